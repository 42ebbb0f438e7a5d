#include <gtest/gtest.h>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "policy_loops.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name;
  bool discrete;
  int size;
  bool log_std;
  std::vector<int> heads = {};
};

constexpr int64_t kSamples = 103, kStored = 150;
constexpr float kEntropyCoef = 0.3f;

// Stored samples, and the network's outputs for some of them.
struct Example {
  explicit Example(const Case& c) : discrete(c.discrete), log_std(c.log_std), size(c.size) {
    heads.assign(c.heads.begin(), c.heads.end());
    if (heads.empty()) heads = {size};
    Random random(7);
    old_out = uniforms(random, kStored * size, -1, 1);
    action = uniforms(random, kStored * size, -2, 2);
    for (int64_t i = 0; i < kStored; ++i)
      for (int32_t count : heads) choice.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(count)));
    rows = shuffled(random, kStored);
    d_log_prob = uniforms(random, kSamples, -1, 1);
    for (int64_t i = 0; i < kSamples * size; ++i)
      out.push_back(old_out[static_cast<size_t>(rows[i / size] * size + i % size)] + uniform(random, -0.3, 0.3));
    for (int k = 0; k < size && !discrete; ++k) {
      std.push_back(uniform(random, 0.5, 1.5));
      const float now = std.back() * uniform(random, 0.9, 1.1);
      param.push_back(log_std ? std::log(now) : now);
    }
  }

  // Returns log_prob, kl and entropy [kSamples] each, d_out [kSamples, size], and the parameters' gradient [size].
  std::vector<float> differentiate(const Loops& loops) {
    const size_t parts = 3 * kSamples, free = discrete ? 0 : param.size();
    std::vector<float> all(parts + out.size() + free);
    std::vector<double> scratch(static_cast<size_t>(kSumLanes * (size + 1)));
    const auto run = [&]<class Policy>(const Policy& policy, const typename Policy::Action* taken) {
      const Differentiate<Policy> function{policy,
                                           out.data(),
                                           old_out.data(),
                                           taken,
                                           rows.data(),
                                           d_log_prob.data(),
                                           kEntropyCoef,
                                           all.data(),
                                           all.data() + kSamples,
                                           all.data() + 2 * kSamples,
                                           all.data() + parts};
      loops(kSamples, HostSumRows<Differentiate<Policy>>{function, scratch.data()});
    };
    if (discrete)
      run(Categorical{size, static_cast<int>(heads.size()), heads.data()}, choice.data());
    else
      run(Gaussian{size, nullptr, nullptr, param.data(), log_std, std.data()}, action.data());
    for (size_t k = 0; k < free; ++k)
      all[parts + out.size() + k] = static_cast<float>(sum_lanes(&scratch[k * kSumLanes], 1, kSumLanes));
    return all;
  }

  bool discrete, log_std;
  int size;
  std::vector<float> old_out, action, out, d_log_prob, std, param;
  std::vector<int32_t> choice, rows, heads;
};

class GradientOf : public testing::TestWithParam<Case> {};

TEST_P(GradientOf, EqualsTheFormulasInDouble) {
  Example e(GetParam());
  const std::vector<float> all = in_every_way([&](const Loops& loops) { return e.differentiate(loops); });
  std::vector<double> out(e.out.begin(), e.out.end()), param(e.param.begin(), e.param.end());
  const auto formula = [&](int64_t i) {
    const int64_t row = e.rows[static_cast<size_t>(i)] * e.size;
    const double* now = &out[static_cast<size_t>(i * e.size)];
    if (e.discrete)
      return Formula::of_heads(e.heads, now, &e.old_out[static_cast<size_t>(row)],
                               &e.choice[static_cast<size_t>(row / e.size) * e.heads.size()]);
    std::vector<double> std = param;
    for (double& s : std) s = e.log_std ? std::exp(s) : s;
    return Formula::gaussian(e.size, now, std.data(), &e.old_out[static_cast<size_t>(row)], e.std.data(),
                             &e.action[static_cast<size_t>(row)]);
  };
  const auto loss = [&](int64_t i) {
    const Formula f = formula(i);
    return e.d_log_prob[static_cast<size_t>(i)] * f.log_prob - kEntropyCoef * f.entropy;
  };
  for (int64_t i = 0; i < kSamples; ++i) {
    const Formula f = formula(i);
    EXPECT_NEAR(all[i], f.log_prob, 1e-5);
    EXPECT_NEAR(all[kSamples + i], f.kl, 2e-6);
    EXPECT_NEAR(all[2 * kSamples + i], f.entropy, 1e-6);
    for (int64_t k = i * e.size; k < (i + 1) * e.size; ++k)
      EXPECT_NEAR(all[3 * kSamples + k], slope([&] { return loss(i); }, out[static_cast<size_t>(k)]), 1e-5);
  }
  for (size_t k = 0; k < param.size(); ++k) {
    double sum = 0;
    for (int64_t i = 0; i < kSamples; ++i) sum += slope([&] { return loss(i); }, param[k]);
    EXPECT_NEAR(all[3 * kSamples + out.size() + k], sum, 1e-4 + 1e-5 * std::abs(sum)) << "parameter " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, GradientOf,
                         testing::Values(Case{"Gaussian1Log", false, 1, true}, Case{"Gaussian1Scalar", false, 1, false},
                                         Case{"Gaussian3Log", false, 3, true}, Case{"Gaussian3Scalar", false, 3, false},
                                         Case{"Categorical2", true, 2, true}, Case{"Categorical5", true, 5, true},
                                         Case{"Heads34", true, 7, true, {3, 4}},
                                         Case{"Heads22322", true, 11, true, {2, 2, 3, 2, 2}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl

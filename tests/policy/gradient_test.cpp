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
  bool state = false;  // the standard deviation is an output
};

constexpr int64_t kSamples = 103, kStored = 150;
constexpr float kEntropyCoef = 0.3f;

// Stored samples, and the network's outputs for some of them.
struct Example {
  explicit Example(const Case& c)
      : discrete(c.discrete), log_std(c.log_std), state(c.state), size(c.size), outputs(c.state ? 2 * c.size : c.size) {
    heads.assign(c.heads.begin(), c.heads.end());
    if (heads.empty()) heads = {size};
    Random random(7);
    old_out = uniforms(random, kStored * outputs, -1, 1);
    action = uniforms(random, kStored * size, -2, 2);
    for (int64_t i = 0; i < kStored; ++i)
      for (int32_t count : heads) choice.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(count)));
    rows = shuffled(random, kStored);
    d_log_prob = uniforms(random, kSamples, -1, 1);
    for (int64_t i = 0; i < kSamples * outputs; ++i)
      out.push_back(old_out[static_cast<size_t>(rows[i / outputs] * outputs + i % outputs)] +
                    uniform(random, -0.3, 0.3));
    for (int k = 0; k < size && !discrete && !state; ++k) {
      std.push_back(uniform(random, 0.5, 1.5));
      const float now = std.back() * uniform(random, 0.9, 1.1);
      param.push_back(log_std ? std::log(now) : now);
    }
  }

  // Returns log_prob, kl and entropy [kSamples] each, d_out [kSamples, outputs], and the parameters' gradient [size].
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
    else if (state)
      run(state_gaussian(), action.data());
    else
      run(Gaussian{size, nullptr, nullptr, param.data(), log_std, std.data()}, action.data());
    for (size_t k = 0; k < free; ++k)
      all[parts + out.size() + k] = static_cast<float>(sum_lanes(&scratch[k * kSumLanes], 1, kSumLanes));
    return all;
  }

  // Some of the outputs are beyond the bounds.
  StateGaussian state_gaussian() const {
    return {.size = size, .log_std = log_std, .std_low = log_std ? -0.5f : 0.4f, .std_high = log_std ? 0.6f : 0.9f};
  }
  // Returns the standard deviations for the outputs of one sample.
  template <class T>
  std::vector<T> state_std(const T* of_sample) const {
    std::vector<T> all(of_sample + size, of_sample + 2 * size);
    for (T& x : all) {
      x = std::clamp(x, T{state_gaussian().std_low}, T{state_gaussian().std_high});
      if (log_std) x = std::exp(x);
    }
    return all;
  }

  bool discrete, log_std, state;
  int size, outputs;
  std::vector<float> old_out, action, out, d_log_prob, std, param;
  std::vector<int32_t> choice, rows, heads;
};

class GradientOf : public testing::TestWithParam<Case> {};

TEST_P(GradientOf, EqualsTheFormulasInDouble) {
  Example e(GetParam());
  const std::vector<float> all = in_every_way([&](const Loops& loops) { return e.differentiate(loops); });
  std::vector<double> out(e.out.begin(), e.out.end()), param(e.param.begin(), e.param.end());
  const auto formula = [&](int64_t i) {
    const auto row = static_cast<size_t>(e.rows[static_cast<size_t>(i)]), size = static_cast<size_t>(e.size);
    const double* now = &out[static_cast<size_t>(i * e.outputs)];
    const float* old = &e.old_out[row * static_cast<size_t>(e.outputs)];
    if (e.discrete) return Formula::of_heads(e.heads, now, old, &e.choice[row * e.heads.size()]);
    const float* action = &e.action[row * size];
    if (e.state) return Formula::gaussian(e.size, now, e.state_std(now).data(), old, e.state_std(old).data(), action);
    std::vector<double> std = param;
    for (double& s : std) s = e.log_std ? std::exp(s) : s;
    return Formula::gaussian(e.size, now, std.data(), old, e.std.data(), action);
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
    for (int64_t k = i * e.outputs; k < (i + 1) * e.outputs; ++k) {
      const double expected = slope([&] { return loss(i); }, out[static_cast<size_t>(k)]);
      EXPECT_NEAR(all[3 * kSamples + k], expected, 1e-5 + 1e-6 * std::abs(expected));
    }
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
                                         Case{"State1Log", false, 1, true, {}, true},
                                         Case{"State3Log", false, 3, true, {}, true},
                                         Case{"State3Scalar", false, 3, false, {}, true},
                                         Case{"Categorical2", true, 2, true}, Case{"Categorical5", true, 5, true},
                                         Case{"Heads34", true, 7, true, {3, 4}},
                                         Case{"Heads22322", true, 11, true, {2, 2, 3, 2, 2}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl

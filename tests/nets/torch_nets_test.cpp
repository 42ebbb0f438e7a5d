#include "nets/torch/torch_nets.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>

#include "../learn/helpers.hpp"
#include "nets/torch/blas.hpp"
#include "envs/make_env.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, activation, std_type;
  bool discrete;
  int actions, critic_obs;
  int64_t samples;
};

// Networks with random parameters, a rollout of random data, and normalisers, for one case.
struct Example {
  explicit Example(const Case& c)
      : random(17), task(c.discrete ? categorical_task(5, c.actions) : gaussian_task(5, c.actions)) {
    task.critic_obs_dim = c.critic_obs;
    policy.actor_hidden_dims = {16, 24};
    policy.critic_hidden_dims = {32};
    policy.activation = c.activation;
    policy.std_type = c.std_type;
    spec = network_spec(task, policy);
    params.resize(parameter_count(network_layout(spec)));
    initialize_parameters(spec, policy, 3, params);
    if (const int64_t at = std_offset(network_layout(spec)); at >= 0)
      for (int k = 0; k < c.actions; ++k)
        params[at + k] = spec.log_std ? uniform(random, -0.3, 0.3) : uniform(random, 0.7, 1.3);
    rollout.emplace(task, 1, 4000);
    fill_random(*rollout, random);
    fill_uniform(rollout->critic_obs, random, -1, 1);
    mean = {0.1f, -0.2f, 0.3f, 0, 0.5f, 1, -1};
    inv_std = {1, 2, 0.5f, 1.5f, 3, 1, 0.7f};
    critic_mean = c.critic_obs ? std::vector<float>{-0.3f, 0.4f, 0, 0.2f, 1, -1, 0.6f} : mean;
    critic_inv_std = c.critic_obs ? std::vector<float>{2, 1, 3, 0.5f, 1, 1.2f, 0.8f} : inv_std;
    normalizers.obs = {mean.data(), inv_std.data()};
    if (c.critic_obs) normalizers.critic_obs = {critic_mean.data(), critic_inv_std.data()};
    rows = first_rows(4000);
    std::shuffle(rows.begin(), rows.end(), random);
    rows.resize(static_cast<size_t>(c.samples));
    engine = make_torch_engine(spec, 1);
  }

  Random random;
  TaskSpec task;
  PolicyOptions policy;
  NetworkSpec spec;
  std::vector<float> params, mean, inv_std, critic_mean,
      critic_inv_std;  // the critic has its own if it has its own input
  std::optional<Rollout> rollout;
  Normalizers normalizers;
  std::vector<int32_t> rows;
  LossSettings loss{0.2f, 0.2f, 0.7f, 0.01f, 0.1f, 0.8f};
  std::unique_ptr<Engine> engine;
};

// The loss as one would write it with libtorch, in double, differentiated by autograd.
class Autograd {
 public:
  explicit Autograd(const Example& s)
      : s_(s), r_(*s.rollout), layout_(network_layout(s.spec)), flat_(column(s.params).set_requires_grad(true)) {}

  std::vector<double> gradient() {
    const at::Tensor actor = mlp("actor", s_.spec.actor, r_.obs, r_.obs_dim);
    const at::Tensor value =
        mlp("critic", s_.spec.critic, s_.task.critic_obs_dim ? r_.critic_obs : r_.obs, r_.critic_input_dim())
            .squeeze(1);
    const auto [log_prob, entropy] = s_.spec.discrete ? categorical(actor) : gaussian(actor);
    const at::Tensor ratio = (log_prob - rows(r_.log_prob, 1).squeeze(1)).exp();
    const at::Tensor advantage =
        (rows(r_.advantage, 1).squeeze(1) - s_.loss.advantage_mean) * s_.loss.advantage_inv_std;
    const at::Tensor surrogate =
        at::max(-advantage * ratio, -advantage * ratio.clamp(1 - s_.loss.clip_param, 1 + s_.loss.clip_param));
    const at::Tensor old = rows(r_.value, 1).squeeze(1), target = rows(r_.return_target, 1).squeeze(1);
    const at::Tensor near = old + (value - old).clamp(-s_.loss.value_clip, s_.loss.value_clip);
    const at::Tensor value_loss = at::max((value - target).pow(2), (near - target).pow(2));
    sums = {static_cast<double>(s_.rows.size()), 0, surrogate.sum().item<double>(), value_loss.sum().item<double>(),
            entropy.sum().item<double>(),        0};
    (surrogate + s_.loss.value_loss_coef * value_loss - s_.loss.entropy_coef * entropy).sum().backward();
    const at::Tensor grad = flat_.grad().contiguous();
    return {grad.data_ptr<double>(), grad.data_ptr<double>() + grad.numel()};
  }

  LossSums sums;  // but KL and clipped

 private:
  template <class Numbers>
  static at::Tensor column(const Numbers& x) {
    return at::from_blob(const_cast<float*>(x.data()), {static_cast<int64_t>(x.size())}, at::kFloat).to(at::kDouble);
  }
  template <class Numbers>
  at::Tensor rows(const Numbers& x, int64_t dim) const {
    const at::Tensor index =
        at::from_blob(const_cast<int32_t*>(s_.rows.data()), {static_cast<int64_t>(s_.rows.size())}, at::kInt)
            .to(at::kLong);
    return column(x).reshape({-1, dim}).index_select(0, index);
  }
  at::Tensor param(const std::string& name) const {
    const ParamSlice& s = slice(layout_, "policy/" + name);
    return flat_.narrow(0, s.offset, s.count()).reshape(s.shape);
  }
  at::Tensor mlp(const std::string& name, const MlpSpec& spec, const Array<float>& obs, int64_t dim) const {
    const bool critic = name == "critic";
    const at::Tensor mean = column(critic ? s_.critic_mean : s_.mean).narrow(0, 0, dim);
    const at::Tensor inv_std = column(critic ? s_.critic_inv_std : s_.inv_std).narrow(0, 0, dim);
    at::Tensor x = (rows(obs, dim) - mean) * inv_std;
    for (int layer = 0; layer < spec.layers(); ++layer) {
      const std::string path = name + "/" + std::to_string(layer);
      x = at::matmul(x, param(path + "/weight").t()) + param(path + "/bias");
      if (layer + 1 < spec.layers())
        x = s_.policy.activation == "tanh" ? at::tanh(x) : s_.policy.activation == "relu" ? at::relu(x) : at::elu(x);
    }
    return x;
  }
  std::pair<at::Tensor, at::Tensor> gaussian(const at::Tensor& mean) const {
    const at::Tensor std = s_.spec.log_std ? param("log_std").exp() : param("std");
    const at::Tensor z = (rows(r_.action, r_.action_size) - mean) / std;
    const double half_log_two_pi = 0.5 * std::log(2 * std::acos(-1.0));
    const at::Tensor log_prob = (-0.5 * z * z - std.log() - half_log_two_pi).sum(1);
    return {log_prob, (0.5 + half_log_two_pi + std.log()).sum().expand({log_prob.size(0)})};
  }
  std::pair<at::Tensor, at::Tensor> categorical(const at::Tensor& logits) const {
    const at::Tensor log_p = at::log_softmax(logits, 1);
    const at::Tensor all =
        at::from_blob(const_cast<int32_t*>(r_.choice.data()), {r_.samples()}, at::kInt).to(at::kLong);
    const at::Tensor index =
        at::from_blob(const_cast<int32_t*>(s_.rows.data()), {static_cast<int64_t>(s_.rows.size())}, at::kInt)
            .to(at::kLong);
    const at::Tensor choice = all.index_select(0, index).unsqueeze(1);
    return {log_p.gather(1, choice).squeeze(1), -(log_p.exp() * log_p).sum(1)};
  }

  const Example& s_;
  const Rollout& r_;
  std::vector<ParamSlice> layout_;
  at::Tensor flat_;
};

class TorchEngineOn : public testing::TestWithParam<Case> {};

// Within float's rounding of the largest number of the same tensor.
void expect_near_in_each_slice(const std::vector<ParamSlice>& layout, const std::vector<float>& ours,
                               const std::vector<double>& expected) {
  for (const ParamSlice& s : layout) {
    double largest = 0, worst = 0;
    for (int64_t i = s.offset; i < s.offset + s.count(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      worst = std::max(worst, std::abs(ours[i] - expected[i]));
    }
    EXPECT_LE(worst, 2e-5 * largest) << s.name;
    EXPECT_GT(largest, 0) << s.name;
  }
}

TEST_P(TorchEngineOn, GradientIsAutogradsOfTheSameLoss) {
  Example s(GetParam());
  Autograd reference(s);
  const std::vector<double> expected = reference.gradient();
  std::vector<float> grad(s.params.size() + kTailSize, NAN);
  s.engine->gradient(s.params.data(), s.normalizers, *s.rollout, {s.rows, s.loss}, grad.data());
  expect_near_in_each_slice(s.engine->layout(), grad, expected);
  const LossSums sums = read_tail(grad.data() + s.params.size());
  EXPECT_EQ(sums.n, reference.sums.n);
  EXPECT_NEAR(sums.surrogate, reference.sums.surrogate, 1e-5 * reference.sums.n);
  EXPECT_NEAR(sums.value, reference.sums.value, 1e-5 * reference.sums.n);
  EXPECT_NEAR(sums.entropy, reference.sums.entropy, 1e-5 * reference.sums.n);
}

// The loops' backward pass and libtorch's, in full: KL and clip counts, too.
TEST_P(TorchEngineOn, GradientIsThatOfPlainLoops) {
  Example s(GetParam());
  LoopEngine loops(s.spec);
  std::vector<float> ours(s.params.size() + kTailSize), theirs(ours.size());
  s.engine->gradient(s.params.data(), s.normalizers, *s.rollout, {s.rows, s.loss}, ours.data());
  loops.gradient(s.params.data(), s.normalizers, *s.rollout, {s.rows, s.loss}, theirs.data());
  expect_near_in_each_slice(s.engine->layout(), ours, {theirs.begin(), theirs.end()});
  const LossSums a = read_tail(ours.data() + s.params.size()), b = read_tail(theirs.data() + s.params.size());
  EXPECT_NEAR(a.kl, b.kl, 1e-5 * b.n);
  EXPECT_NEAR(a.clipped, b.clipped, 1);  // a ratio within rounding of the clip
}

TEST_P(TorchEngineOn, ValuesAreTheCritics) {
  Example s(GetParam());
  LoopEngine loops(s.spec);
  std::vector<float> ours(2500, NAN), theirs(2500);
  s.engine->values(s.params.data(), s.normalizers, s.rollout->critic_input(), 2500, ours.data());
  loops.values(s.params.data(), s.normalizers, s.rollout->critic_input(), 2500, theirs.data());
  for (size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 1e-5) << i;
  s.engine->values(s.params.data(), s.normalizers, s.rollout->critic_input(), 0, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Networks, TorchEngineOn,
                         testing::Values(Case{"GaussianElu", "elu", "log", false, 3, 0, 2500},
                                         Case{"GaussianTanhScalar", "tanh", "scalar", false, 1, 0, 1024},
                                         Case{"GaussianReluOwnCriticInput", "relu", "log", false, 2, 7, 1025},
                                         Case{"CategoricalElu", "elu", "log", true, 3, 0, 2049},
                                         Case{"CategoricalTanh", "tanh", "log", true, 2, 7, 5},
                                         Case{"CategoricalRelu", "relu", "log", true, 4, 0, 1023}),
                         [](const auto& info) { return info.param.name; });

class TorchEngineCollects : public testing::TestWithParam<const char*> {};

// 1500 environments are more than a tile: each row's policy outputs are the actor's, of that row's observations.
TEST_P(TorchEngineCollects, PolicyOutputsOfEveryRow) {
  const std::unique_ptr<VecEnv> env = make_env(GetParam(), {1500, 0, 1, true});
  PolicyOptions policy;
  const NetworkSpec spec = network_spec(env->spec(), policy);
  std::vector<float> params(parameter_count(network_layout(spec)));
  initialize_parameters(spec, policy, 1, params);
  Rollout r(env->spec(), 3, 1500);
  env->reset(r.start_row());
  make_torch_engine(spec, 1)->collect(params.data(), {}, *env, 1, 0, ActionChoice::sample, r);
  const LoopMlp actor(spec, "actor");
  for (int64_t i = 0; i < r.samples(); ++i) {
    const std::vector<double> out = actor.forward(params.data(), &r.obs[i * r.obs_dim]).back();
    for (int64_t k = 0; k < r.action_size; ++k)
      ASSERT_NEAR(r.policy_out[i * r.action_size + k], out[k], 1e-5) << "row " << i;
  }
  for (float std : r.std) EXPECT_FLOAT_EQ(std, 1);

  Rollout best(env->spec(), 1, 1500);
  env->reset(best.start_row());
  make_torch_engine(spec, 1)->collect(params.data(), {}, *env, 1, 0, ActionChoice::most_probable, best);
  for (size_t i = 0; i < best.action.size(); ++i) EXPECT_EQ(best.action[i], best.policy_out[i]);
  for (size_t i = 0; i < best.choice.size(); ++i)
    EXPECT_EQ(best.choice[i], best.policy_out[2 * i + 1] > best.policy_out[2 * i]);
}

INSTANTIATE_TEST_SUITE_P(Tasks, TorchEngineCollects, testing::Values("Cartpole", "CartPole-v1"), [](const auto& info) {
  return std::string(info.param) == "Cartpole" ? "Gaussian" : "Categorical";
});

TEST(TorchEngine, SaysWhatItComputesWith) {
  Example s({"", "elu", "log", false, 1, 0, 1});
  EXPECT_EQ(s.engine->description().find("libtorch "), 0u);
  EXPECT_NE(s.engine->description().find(blas_library().name), std::string::npos);
  EXPECT_FALSE(blas_library().name.empty());
}

// 192 MiB for each thread, and as much besides.
TEST(AddressSpace, MustHoldTheBuffersOfBlas) {
  constexpr uint64_t mib = 1 << 20;
  EXPECT_EQ(address_space_problem(RLIM_INFINITY, 600 * mib, 1000), "");
  EXPECT_EQ(address_space_problem(984 * mib, 600 * mib, 1), "");
  EXPECT_EQ(
      address_space_problem(983 * mib, 600 * mib, 1),
      "the limit of the address space leaves 383 MiB (ulimit -v 1006592), and 1 thread of matrix products may take "
      "384 MiB: ulimit -v 1007617, or unlimited; in a job ask for more memory");
  EXPECT_NE(address_space_problem(984 * mib, 600 * mib, 2), "");
  EXPECT_NE(address_space_problem(500 * mib, 600 * mib, 1), "");
}

}  // namespace
}  // namespace drl

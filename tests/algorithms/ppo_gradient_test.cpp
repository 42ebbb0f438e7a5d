// Compares PPO's gradient and loss sums of a mini-batch with autograd of an independent implementation in libtorch.
#include <gtest/gtest.h>

#include <numeric>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/libtorch_policy.hpp"
#include "../support/random_env.hpp"
#include "../support/set_options.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, options;  // those that differ from Example's: "policy.rnn_type=gru ..."
  TaskSpec task;
  int64_t steps = 5, envs = 500;
  bool fused = false;
};

// Tasks with five observations.
TaskSpec with_critic(TaskSpec task, int critic_obs) {
  task.critic_obs_dim = critic_obs;
  return task;
}
TaskSpec gaussian(int actions, int critic_obs = 0) { return with_critic(gaussian_task(5, actions), critic_obs); }
TaskSpec bounded(int actions) { return gaussian_task(5, actions, 2); }
TaskSpec categorical(int actions, int critic_obs = 0) { return with_critic(categorical_task(5, actions), critic_obs); }
TaskSpec heads(std::vector<int> sizes) {
  TaskSpec task = categorical(std::accumulate(sizes.begin(), sizes.end(), 0));
  task.action.heads = std::move(sizes);
  return task;
}

// Adds signed permutations in which numbers change places and signs.
TaskSpec mirrored(TaskSpec task) {
  const auto reversed = [](int count, float sign) {
    std::vector<MirroredNumber> table;
    for (int k = 0; k < count; ++k) table.push_back({count - 1 - k, 2 * k + 1 == count ? -sign : sign});
    return table;
  };
  task.mirror = {reversed(task.obs_dim, 1), reversed(task.critic_obs_dim, -1),
                 reversed(task.action.size, task.action.discrete ? 1.0f : -1.0f)};
  return task;
}

struct Example {
  explicit Example(const Case& c, double reward_scale = 1) : env(c.task, c.envs) {
    policy.actor_hidden_dims = {16, 24};
    policy.critic_hidden_dims = {32};
    policy.rnn_hidden_dim = 12;
    policy.init_std = 0.8, policy.std_min = 0.1, policy.std_max = 100;
    options.reward_scale = reward_scale;
    options.num_learning_epochs = 2;
    options.schedule = "fixed";
    options.learning_rate = 0.01;
    options.clip_param = 0.03, options.value_clip = 0.02, options.value_loss_coef = 0.7;
    options.obs_normalization = true;
    options.obs_normalization_clip = 1.2;
    options.mirror_loss_coeff = 0.3;
    OptionTable table;
    table.section("policy", "", policy);
    table.section("ppo", "", options);
    set_options(table, c.options);
    spec = policy_spec(env.spec(), policy, options.normalizer());
    nets = c.fused ? make_fused_nets(*queue, spec.layout, 1) : make_torch_nets(*queue, spec.layout, 1);
    BatchPlan plan{c.envs, c.steps, 0, 1, 1, 1};
    plan.sequences = policy.is_recurrent();
    ppo.emplace(LearnerParts{*queue, policy, plan, 1, spec, *nets, env}, options);
  }
  RandomEnv env;
  PolicyOptions policy;
  PpoOptions options;
  std::unique_ptr<Queue> queue = host_queue();
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::optional<Ppo> ppo;
};

// The loss and its gradient with libtorch. The mini-batch is the whole rollout; `old_params` are the parameters at the
// time the actions were chosen.
struct Autograd : LibtorchPolicy {
  Autograd(Example& s, const at::Tensor& old_params) : LibtorchPolicy{s.spec, s.env.spec().action, s.ppo->rollout()} {
    const PpoOptions& o = s.options;
    const Normalizers normalizers = s.ppo->host_normalizers();
    flat = as_double(s.ppo->host_parameters()).set_requires_grad(true);
    const Mirror& mirror = s.env.spec().mirror;
    const int64_t critic_dim = r.critic_obs_dim ? r.critic_obs_dim : r.obs_dim;
    const at::Tensor obs = rows(r.obs, r.obs_dim), critic_obs = rows(r.critic_input(), critic_dim), action = actions();
    const auto actor_of = [&](const at::Tensor& x) {
      return mlp(spec.layout, spec.actor, flat,
                 features(spec.actor_rnn, flat, normalized(x, normalizers.obs), r.actor_state));
    };
    const auto critic_of = [&](const at::Tensor& x) {
      return mlp(spec.layout, spec.critic, flat,
                 features(spec.critic_rnn, flat, normalized(x, normalizers.critic()), r.critic_state))
          .squeeze(1);
    };
    at::Tensor advantage = rows(r.advantage, 1).squeeze(1);
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8);
    const at::Tensor old_log_prob = rows(r.log_prob, 1).squeeze(1), old = rows(r.value, 1).squeeze(1),
                     target = rows(r.return_target, 1).squeeze(1);
    LibtorchTerms terms;
    at::Tensor ratio, limited;  // of the last call, as the terms
    const auto surrogate_of = [&](const at::Tensor& out, const at::Tensor& of_action) {
      terms = evaluate(out, of_action, flat, old_params);
      ratio = (terms.log_prob - old_log_prob).exp();
      limited = ratio.clamp(1 - o.clip_param, 1 + o.clip_param);
      return at::max(-advantage * ratio, -advantage * limited);
    };
    const auto value_loss_of = [&](const at::Tensor& value) {
      const at::Tensor near = old + (value - old).clamp(-o.value_clip, o.value_clip);
      return at::max((value - target).pow(2), (near - target).pow(2));
    };
    at::Tensor surrogate, value_loss, symmetry_loss;
    const at::Tensor out = actor_of(obs);
    if (!mirror.empty()) {
      const at::Tensor mirrored_out = actor_of(mirrored(obs, mirror.obs));
      symmetry_loss = (mirrored_out - mirrored(out, mirror.action).detach()).pow(2).mean(1);
      if (o.symmetry_use().augments) {
        const at::Tensor mirrored_action =
            s.env.spec().action.discrete ? mirrored_choices(action, mirror.action) : mirrored(action, mirror.action);
        surrogate = surrogate_of(mirrored_out, mirrored_action);
        value_loss = value_loss_of(critic_of(mirrored(critic_obs, r.critic_obs_dim ? mirror.critic_obs : mirror.obs)));
      }
    }
    const bool doubles = surrogate.defined();
    const at::Tensor own_surrogate = surrogate_of(out, action), own_value_loss = value_loss_of(critic_of(critic_obs));
    surrogate = doubles ? (surrogate + own_surrogate) / 2 : own_surrogate;
    value_loss = doubles ? (value_loss + own_value_loss) / 2 : own_value_loss;
    sums.push_back(static_cast<double>(r.samples()));
    for (const at::Tensor& x : {terms.kl, surrogate, value_loss, terms.entropy, (ratio != limited).to(at::kDouble)})
      sums.push_back(x.sum().item<double>());
    at::Tensor loss = surrogate + o.value_loss_coef * value_loss - o.entropy_coef * terms.entropy;
    if (symmetry_loss.defined()) sums.push_back(symmetry_loss.sum().item<double>());
    if (o.symmetry_use().has_loss) loss = loss + o.mirror_loss_coeff * symmetry_loss;
    loss.sum().backward();
  }

  // Returns x [n, numbers] mirrored.
  static at::Tensor mirrored(const at::Tensor& x, const std::vector<MirroredNumber>& mirror) {
    std::vector<at::Tensor> columns;
    for (const auto& [source, sign] : mirror) columns.push_back(x.select(1, source) * double{sign});
    return at::stack(columns, 1);
  }
  // Returns the mirrored choices of a single discrete action.
  static at::Tensor mirrored_choices(const at::Tensor& choices, const std::vector<MirroredNumber>& mirror) {
    std::vector<int32_t> to;
    for (const MirroredNumber& number : mirror) to.push_back(number.source);
    return as_index(to).index_select(0, choices.squeeze(1)).unsqueeze(1);
  }
  // Returns the outputs of the recurrent layers, if there are any, for the rollout's inputs.
  at::Tensor features(const RnnSpec& rnn, const at::Tensor& params, const at::Tensor& x, const float* start) const {
    if (rnn.empty()) return x;
    const at::Tensor state =
        as_double({start, static_cast<size_t>(r.num_envs * rnn.state_size())}).reshape({r.num_envs, -1});
    return rnn_outputs(spec.layout, rnn, params, x, state, ended(r));
  }
  // Returns 1 for the steps [T, N] that ended an episode.
  static at::Tensor ended(const RolloutView& r) {
    at::Tensor ended = at::zeros({r.num_steps, r.num_envs}, at::kDouble);
    for (int64_t i = 0; i < r.samples(); ++i) ended.data_ptr<double>()[i] = r.terminated[i] | r.truncated[i];
    return ended;
  }

  at::Tensor flat;
  std::vector<double> sums;  // in the order of LossColumn
};

class PpoGradientOf : public testing::TestWithParam<Case> {};

// Compares in the second pass over the second rollout. There the policy differs from the one that acted, and
// observations are normalised.
TEST_P(PpoGradientOf, EqualsAutogradOfTheSameLoss) {
  Example s(GetParam());
  at::Tensor old_params;
  int reductions = 0;
  Listener comm([&](std::span<const float> gradient_and_tail) {
    if (++reductions != 4) return;
    const size_t size = s.ppo->host_parameters().size();
    const std::span<const float> tail = gradient_and_tail.subspan(size);
    const Autograd expected(s, old_params);
    expect_close_in_each_slice(s.spec.layout, gradient_and_tail.first(size), expected.flat.grad());
    const double n = static_cast<double>(GetParam().steps * GetParam().envs);
    EXPECT_EQ(tail[kSamples], n);
    for (int column = kKl; column < kClipped; ++column)
      EXPECT_NEAR(tail[column], expected.sums[column], 1e-5 * n) << column;
    if (s.options.symmetry != "none") {
      EXPECT_NEAR(tail[kSymmetryColumn], expected.sums[kSymmetryColumn], 1e-5 * n);
    }
    EXPECT_NEAR(tail[kClipped], expected.sums[kClipped], 1);  // one ratio may be within rounding of the clip range
    EXPECT_GT(tail[kClipped], 0.05 * n);
    EXPECT_LT(tail[kClipped], 0.95 * n);
  });
  for (int iteration : {0, 1}) {
    old_params = as_double(s.ppo->host_parameters());
    s.ppo->iterate(iteration, comm);
  }
  EXPECT_EQ(reductions, 4);
}

// The numbers of samples are around the tile size of 1024.
INSTANTIATE_TEST_SUITE_P(
    Networks, PpoGradientOf,
    testing::Values(
        Case{"GaussianElu", "", gaussian(3)},
        Case{"GaussianTanhScalar", "policy.activation=tanh policy.std_type=scalar", gaussian(1), 1, 1024},
        Case{"GaussianReluOwnCriticInput", "policy.activation=relu", gaussian(2, 7), 5, 205},
        Case{"GaussianSiluNorm",
             "policy.activation=silu policy.layer_norm=true ppo.normalize_advantage_per_mini_batch=true", gaussian(3)},
        Case{"StateLog", "policy.state_dependent_std=true policy.std_max=0.81", gaussian(3), 5, 500, true},
        Case{"StateScalar",
             "policy.activation=tanh policy.std_type=scalar ppo.normalize_advantage_per_mini_batch=true "
             "policy.state_dependent_std=true policy.std_max=0.81",
             gaussian(2), 5, 205},
        Case{"Beta", "policy.distribution=beta", bounded(3)},
        Case{"Squashed",
             "policy.activation=tanh ppo.normalize_advantage_per_mini_batch=true policy.distribution=squashed_gaussian "
             "policy.init_std=0.3",
             bounded(2), 5, 205},
        Case{"SquashedState",
             "policy.distribution=squashed_gaussian policy.state_dependent_std=true policy.init_std=0.3 "
             "policy.std_max=0.305",
             bounded(3), 5, 205, true},
        Case{"CategoricalGeluNorm", "policy.activation=gelu policy.layer_norm=true", categorical(3), 3, 683},
        Case{"CategoricalElu", "", categorical(3), 3, 683},
        Case{"CategoricalTanh", "policy.activation=tanh", categorical(2, 7), 5, 1},
        Case{"CategoricalRelu", "policy.activation=relu", categorical(4), 3, 341},
        Case{"HeadsElu", "", heads({2, 3, 2}), 3, 683}, Case{"Gru", "policy.rnn_type=gru", gaussian(3), 9, 120, true},
        Case{"GruOfOneStep", "policy.rnn_type=gru", categorical(3), 1, 500},
        Case{"GruLayersOwnCriticInput",
             "policy.activation=tanh policy.layer_norm=true ppo.normalize_advantage_per_mini_batch=true "
             "policy.rnn_type=gru policy.rnn_num_layers=3",
             categorical(3, 7), 6, 33},
        Case{"Lstm", "policy.activation=tanh policy.rnn_type=lstm", gaussian(2), 7, 200},
        Case{"LstmLayers", "policy.std_type=scalar policy.rnn_type=lstm policy.rnn_num_layers=2", gaussian(2, 4), 12, 9,
             true}),
    [](const auto& info) { return info.param.name; });

// Gradients with mirrored samples. Their ratios differ from 1, so that the surrogate is clipped for many of them.
INSTANTIATE_TEST_SUITE_P(
    Symmetry, PpoGradientOf,
    testing::Values(Case{"Augment", "ppo.symmetry=augment", mirrored(gaussian(3))},
                    Case{"Loss", "policy.activation=tanh policy.std_type=scalar ppo.symmetry=loss",
                         mirrored(gaussian(4, 7)), 5, 205, true},
                    Case{"Both", "policy.layer_norm=true ppo.normalize_advantage_per_mini_batch=true ppo.symmetry=both",
                         mirrored(gaussian(3, 6)), 3, 683, true},
                    Case{"Choices", "ppo.symmetry=both", mirrored(categorical(3)), 3, 341, true}),
    [](const auto& info) { return info.param.name; });

// The networks' outputs during a rollout, from libtorch: one step after the other, with states that are zero where an
// episode begins. The second rollout begins with the states at the end of the first.
struct RecurrentRollout {
  explicit RecurrentRollout(const Case& c) : s(c, 1e-9) {}  // the reward is then gamma V(last observation), or 0
  // Returns the outputs of the network after recurrent layers for x [T * N, inputs]. Adds the states after each step.
  at::Tensor outputs(NetId net, const RnnSpec& rnn, const at::Tensor& params, const at::Tensor& x, const float* start,
                     std::vector<at::Tensor>& states) const {
    const RolloutView& r = s.ppo->rollout();
    const at::Tensor before =
        as_double({start, static_cast<size_t>(r.num_envs * rnn.state_size())}).reshape({r.num_envs, -1});
    return mlp(s.spec.layout, net, params,
               rnn_outputs(s.spec.layout, rnn, params, x, before, Autograd::ended(r), &states));
  }

  Example s;
};

class RecurrentRolloutOf : public testing::TestWithParam<Case> {};

TEST_P(RecurrentRolloutOf, HasTheOutputsAndValuesOfASequence) {
  RecurrentRollout test(GetParam());
  Example& s = test.s;
  const RolloutView& r = s.ppo->rollout();
  const auto rows = [&](const float* x, int64_t count, int64_t dim) {
    return as_double({x, static_cast<size_t>(count * dim)}).reshape({count, dim});
  };
  at::Tensor params, actor_end = at::zeros({r.num_envs, s.spec.actor_rnn.state_size()}, at::kDouble),
                     critic_end = at::zeros({r.num_envs, s.spec.critic_rnn.state_size()}, at::kDouble);
  int reductions = 0, last_observations = 0;
  Normalizers normalizers;
  const int64_t critic_dim = r.critic_obs_dim ? r.critic_obs_dim : r.obs_dim;
  // Checks before the first step of the update, while parameters and observations are those of the rollout.
  Listener comm([&](std::span<const float>) {
    if (reductions++ % 2) return;
    EXPECT_LT(at::max(at::abs(rows(r.actor_state, r.num_envs, actor_end.size(1)) - actor_end)).item<double>(), 1e-5);
    EXPECT_LT(at::max(at::abs(rows(r.critic_state, r.num_envs, critic_end.size(1)) - critic_end)).item<double>(), 1e-5);
    std::vector<at::Tensor> of_actor, of_critic;
    const at::Tensor out =
        test.outputs(s.spec.actor, s.spec.actor_rnn, params,
                     normalized(rows(r.obs, r.samples(), r.obs_dim), normalizers.obs), r.actor_state, of_actor);
    expect_close({r.policy_out, static_cast<size_t>(r.samples() * r.out_size)}, out, 1e-5, "outputs of the actor");
    const at::Tensor value = test.outputs(
        s.spec.critic, s.spec.critic_rnn, params,
        normalized(rows(r.critic_input(), r.samples(), critic_dim), normalizers.critic()), r.critic_state, of_critic);
    expect_close({r.value, static_cast<size_t>(r.samples())}, value, 1e-5, "values");
    actor_end = of_actor.back(), critic_end = of_critic.back();
    // V of a single observation after a given state.
    const auto value_after = [&](const at::Tensor& state, const float* obs) {
      const at::Tensor x = rnn_outputs(s.spec.layout, s.spec.critic_rnn, params,
                                       normalized(rows(obs, 1, critic_dim), normalizers.critic()), state.unsqueeze(0),
                                       at::zeros({1, 1}, at::kDouble));
      return mlp(s.spec.layout, s.spec.critic, params, x).item<double>();
    };
    std::vector<int64_t> taken(static_cast<size_t>(r.num_envs));
    for (int64_t i = 0; i < r.samples(); ++i) {
      const int64_t t = i / r.num_envs, env = i % r.num_envs;
      if (!r.truncated[i]) continue;
      const float* last = r.last_critic_input() + (taken[static_cast<size_t>(env)]++ * r.num_envs + env) * critic_dim;
      EXPECT_NEAR(r.reward[i], s.options.gamma * value_after(of_critic[static_cast<size_t>(t)][env], last), 1e-5);
      ++last_observations;
    }
    for (int64_t env = 0; env < r.num_envs; ++env)
      EXPECT_NEAR(r.value[r.samples() + env],
                  value_after(critic_end[env], r.critic_input() + (r.samples() + env) * critic_dim), 1e-5);
  });
  for (int iteration : {0, 1, 2}) {
    params = as_double(s.ppo->host_parameters()).clone();
    normalizers = s.ppo->host_normalizers();
    s.ppo->iterate(iteration, comm);
  }
  EXPECT_EQ(reductions, 6);
  EXPECT_GT(last_observations, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, RecurrentRolloutOf,
    testing::Values(Case{"Gru", "policy.rnn_type=gru", gaussian(3), 9, 40, true},
                    Case{"GruLayersOwnCriticInput",
                         "policy.activation=tanh policy.layer_norm=true ppo.normalize_advantage_per_mini_batch=true "
                         "policy.rnn_type=gru policy.rnn_num_layers=3",
                         categorical(3, 7), 6, 33},
                    Case{"Lstm", "policy.activation=tanh policy.rnn_type=lstm policy.rnn_num_layers=2", gaussian(2), 7,
                         50, true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl

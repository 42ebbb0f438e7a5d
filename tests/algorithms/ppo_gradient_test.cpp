// Compares PPO's gradient and loss sums of a mini-batch with autograd of an independent implementation in libtorch.
#include <gtest/gtest.h>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/random_env.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, activation, std_type;
  bool discrete;
  int actions, critic_obs;
  int64_t steps, envs;
  bool layer_norm = false, per_mini_batch = false;
  std::vector<int> heads = {};
  std::string rnn = "none";
  int rnn_layers = 1;
  bool fused = false;
  std::string symmetry = "none";
  bool state_std = false;
  std::string distribution = "gaussian";
};

constexpr float kBound = 2;  // of actions whose distribution is bounded

// Signed permutations in which numbers change places and signs.
Mirror mirror_of(const TaskSpec& task) {
  const auto reversed = [](int count, float sign) {
    std::vector<MirroredNumber> table;
    for (int k = 0; k < count; ++k) table.push_back({count - 1 - k, 2 * k + 1 == count ? -sign : sign});
    return table;
  };
  return {reversed(task.obs_dim, 1), reversed(task.critic_obs_dim, -1),
          reversed(task.action.size, task.action.discrete ? 1.0f : -1.0f)};
}

struct Example {
  explicit Example(const Case& c, double reward_scale = 1)
      : env(
            [&] {
              TaskSpec task = c.discrete                     ? categorical_task(5, c.actions)
                              : c.distribution == "gaussian" ? gaussian_task(5, c.actions)
                                                             : gaussian_task(5, c.actions, kBound);
              task.critic_obs_dim = c.critic_obs, task.action.heads = c.heads;
              if (c.symmetry != "none") task.mirror = mirror_of(task);
              return task;
            }(),
            c.envs) {
    policy.actor_hidden_dims = {16, 24};
    policy.critic_hidden_dims = {32};
    policy.activation = c.activation;
    policy.std_type = c.std_type;
    policy.layer_norm = c.layer_norm;
    policy.init_std = c.distribution == "squashed_gaussian" ? 0.3 : 0.8;  // where the entropy's quadrature is exact
    policy.state_dependent_std = c.state_std, policy.std_min = 0.1, policy.std_max = c.state_std ? 0.81 : 100;
    policy.distribution = c.distribution;
    policy.rnn_type = c.rnn, policy.rnn_hidden_dim = 12, policy.rnn_num_layers = c.rnn_layers;
    options.reward_scale = reward_scale;
    options.num_learning_epochs = 2;
    options.schedule = "fixed";
    options.learning_rate = 0.01;
    options.clip_param = 0.03, options.value_clip = 0.02, options.value_loss_coef = 0.7;
    options.obs_normalization = true;
    options.obs_normalization_clip = 1.2;
    options.normalize_advantage_per_mini_batch = c.per_mini_batch;
    options.symmetry = c.symmetry, options.mirror_loss_coeff = 0.3;
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
struct Autograd {
  Autograd(Example& s, const at::Tensor& old_params) : spec(s.spec), r(s.ppo->rollout()), old_params(old_params) {
    const PpoOptions& o = s.options;
    const Normalizers normalizers = s.ppo->host_normalizers();
    flat = as_double(s.ppo->host_parameters()).set_requires_grad(true);
    const Mirror& mirror = s.env.spec().mirror;
    const int64_t critic_dim = r.critic_obs_dim ? r.critic_obs_dim : r.obs_dim;
    const at::Tensor obs = rows(r.obs, r.obs_dim), critic_obs = rows(r.critic_input(), critic_dim),
                     action = actions(s.env.spec().action);
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
    at::Tensor ratio, limited;  // of the last call
    const auto surrogate_of = [&](const at::Tensor& out, const at::Tensor& of_action) {
      if (s.env.spec().action.discrete)
        categorical(out, s.env.spec().action, of_action);
      else if (std::holds_alternative<Beta>(spec.distribution))
        beta(out, of_action);
      else if (std::holds_alternative<SquashedGaussian>(spec.distribution))
        squashed(out, of_action);
      else
        gaussian(out, of_action);
      ratio = (log_prob - old_log_prob).exp();
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
    for (const at::Tensor& x : {kl, surrogate, value_loss, entropy, (ratio != limited).to(at::kDouble)})
      sums.push_back(x.sum().item<double>());
    at::Tensor loss = surrogate + o.value_loss_coef * value_loss - o.entropy_coef * entropy;
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
  at::Tensor actions(const ActionSpace& space) const {
    if (!space.discrete) return rows(reinterpret_cast<const float*>(r.action), space.size);
    const int64_t heads = space.head_count();
    return as_index({reinterpret_cast<const int32_t*>(r.action), static_cast<size_t>(r.samples() * heads)})
        .reshape({-1, heads});
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

  at::Tensor rows(const float* x, int64_t dim) const {
    return as_double({x, static_cast<size_t>(r.samples() * dim)}).reshape({-1, dim});
  }
  at::Tensor std_of(const at::Tensor& params) const {
    const at::Tensor x = param(params, spec.layout.slices()[static_cast<size_t>(spec.std)]);
    return spec.log_std ? x.exp() : x;
  }
  // A distribution of the state has outputs for means and standard deviations.
  void gaussian(const at::Tensor& out, const at::Tensor& action) {
    const at::Tensor old_out = rows(r.policy_out, r.out_size);
    const auto* state = std::get_if<StateGaussian>(&spec.distribution);
    const int64_t size = state ? r.out_size / 2 : r.out_size;
    const auto std_in = [&](const at::Tensor& from, const at::Tensor& params) {
      if (!state) return std_of(params);
      const at::Tensor bounded = from.narrow(1, size, size).clamp(state->std_low, state->std_high);
      return spec.log_std ? bounded.exp() : bounded;
    };
    const at::Tensor mean = out.narrow(1, 0, size), old_mean = old_out.narrow(1, 0, size), std = std_in(out, flat),
                     old_std = std_in(old_out, old_params);
    const at::Tensor z = (action - mean) / std;
    const double half_log_two_pi = 0.5 * std::log(2 * std::acos(-1.0));
    log_prob = (-0.5 * z * z - std.log() - half_log_two_pi).sum(1);
    entropy = (0.5 + half_log_two_pi + std.log()).expand(mean.sizes()).sum(1);
    kl = ((std / old_std).log() + (old_std.pow(2) + (old_mean - mean).pow(2)) / (2 * std.pow(2)) - 0.5).sum(1);
  }
  // With alpha = 1 + softplus(raw), and beta likewise.
  void beta(const at::Tensor& out, const at::Tensor& action) {
    const auto shapes = [&](const at::Tensor& raw) { return at::softplus(raw, 1, 100) + 1; };
    const auto log_beta = [](const at::Tensor& a, const at::Tensor& b) {
      return at::lgamma(a) + at::lgamma(b) - at::lgamma(a + b);
    };
    const int64_t size = r.out_size / 2;
    const at::Tensor now = shapes(out), old = shapes(rows(r.policy_out, r.out_size)), a = now.narrow(1, 0, size),
                     b = now.narrow(1, size, size), a0 = old.narrow(1, 0, size), b0 = old.narrow(1, size, size),
                     u = (action + double{kBound}) / (2 * double{kBound});
    const double log_range = std::log(2 * double{kBound});
    log_prob = ((a - 1) * u.log() + (b - 1) * (1 - u).log() - log_beta(a, b) - log_range).sum(1);
    entropy = (log_beta(a, b) - (a - 1) * at::digamma(a) - (b - 1) * at::digamma(b) + (a + b - 2) * at::digamma(a + b) +
               log_range)
                  .sum(1);
    kl = (log_beta(a, b) - log_beta(a0, b0) + (a0 - a) * at::digamma(a0) + (b0 - b) * at::digamma(b0) +
          (a + b - a0 - b0) * at::digamma(a0 + b0))
             .sum(1);
  }
  // The entropy is that of the Gaussian and the mean of the logarithm of the slope, an integral by the trapezoidal
  // rule.
  void squashed(const at::Tensor& out, const at::Tensor& action) {
    const at::Tensor u = action / double{kBound}, x = 0.5 * ((1 + u) / (1 - u)).log();
    gaussian(out, x);
    log_prob = log_prob - (double{kBound} * (1 - u * u)).log().sum(1);
    const at::Tensor z = at::linspace(-8, 8, 161, at::kDouble), weight = (-0.5 * z * z).exp(),
                     of_z = out.unsqueeze(2) + std_of(flat).reshape({1, -1, 1}) * z,
                     slope = 2 * (std::log(2.0) - of_z - at::softplus(-2 * of_z, 1, 100)) + std::log(double{kBound});
    entropy = entropy + (slope * weight / weight.sum()).sum(2).sum(1);
  }
  void categorical(const at::Tensor& logits, const ActionSpace& space, const at::Tensor& choices) {
    const at::Tensor old_logits = rows(r.policy_out, r.out_size);
    const int64_t heads = space.head_count();
    log_prob = entropy = kl = at::zeros({r.samples()}, at::kDouble);
    for (int64_t head = 0, first = 0; head < heads; first += space.choices(static_cast<int>(head++))) {
      const int64_t count = space.choices(static_cast<int>(head));
      const at::Tensor log_p = at::log_softmax(logits.narrow(1, first, count), 1),
                       old = at::log_softmax(old_logits.narrow(1, first, count), 1);
      log_prob = log_prob + log_p.gather(1, choices.narrow(1, head, 1)).squeeze(1);
      entropy = entropy - (log_p.exp() * log_p).sum(1);
      kl = kl + (old.exp() * (old - log_p)).sum(1);
    }
  }

  const PolicySpec& spec;
  const RolloutView& r;
  at::Tensor flat, old_params, log_prob, entropy, kl;
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
    if (GetParam().symmetry != "none") {
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
        Case{"GaussianElu", "elu", "log", false, 3, 0, 5, 500},
        Case{"GaussianTanhScalar", "tanh", "scalar", false, 1, 0, 1, 1024},
        Case{"GaussianReluOwnCriticInput", "relu", "log", false, 2, 7, 5, 205},
        Case{"GaussianSiluNorm", "silu", "log", false, 3, 0, 5, 500, true, true},
        Case{"StateLog", "elu", "log", false, 3, 0, 5, 500, false, false, {}, "none", 1, true, "none", true},
        Case{"StateScalar", "tanh", "scalar", false, 2, 0, 5, 205, false, true, {}, "none", 1, false, "none", true},
        Case{"Beta", "elu", "log", false, 3, 0, 5, 500, false, false, {}, "none", 1, false, "none", false, "beta"},
        Case{"Squashed",
             "tanh",
             "log",
             false,
             2,
             0,
             5,
             205,
             false,
             true,
             {},
             "none",
             1,
             false,
             "none",
             false,
             "squashed_gaussian"},
        Case{"CategoricalGeluNorm", "gelu", "log", true, 3, 0, 3, 683, true},
        Case{"CategoricalElu", "elu", "log", true, 3, 0, 3, 683},
        Case{"CategoricalTanh", "tanh", "log", true, 2, 7, 5, 1},
        Case{"CategoricalRelu", "relu", "log", true, 4, 0, 3, 341},
        Case{"HeadsElu", "elu", "log", true, 7, 0, 3, 683, false, false, {2, 3, 2}},
        Case{"Gru", "elu", "log", false, 3, 0, 9, 120, false, false, {}, "gru", 1, true},
        Case{"GruOfOneStep", "elu", "log", true, 3, 0, 1, 500, false, false, {}, "gru"},
        Case{"GruLayersOwnCriticInput", "tanh", "log", true, 3, 7, 6, 33, true, true, {}, "gru", 3},
        Case{"Lstm", "tanh", "log", false, 2, 0, 7, 200, false, false, {}, "lstm"},
        Case{"LstmLayers", "elu", "scalar", false, 2, 4, 12, 9, false, false, {}, "lstm", 2, true}),
    [](const auto& info) { return info.param.name; });

// Gradients with mirrored samples. Their ratios differ from 1, so that the surrogate is clipped for many of them.
INSTANTIATE_TEST_SUITE_P(
    Symmetry, PpoGradientOf,
    testing::Values(Case{"Augment", "elu", "log", false, 3, 0, 5, 500, false, false, {}, "none", 1, false, "augment"},
                    Case{"Loss", "tanh", "scalar", false, 4, 7, 5, 205, false, false, {}, "none", 1, true, "loss"},
                    Case{"Both", "elu", "log", false, 3, 6, 3, 683, true, true, {}, "none", 1, true, "both"},
                    Case{"Choices", "elu", "log", true, 3, 0, 3, 341, false, false, {}, "none", 1, true, "both"}),
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
    testing::Values(Case{"Gru", "elu", "log", false, 3, 0, 9, 40, false, false, {}, "gru", 1, true},
                    Case{"GruLayersOwnCriticInput", "tanh", "log", true, 3, 7, 6, 33, true, true, {}, "gru", 3},
                    Case{"Lstm", "tanh", "log", false, 2, 0, 7, 50, false, false, {}, "lstm", 2, true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl

// Compares distillation with an independent implementation of rsl_rl's Distillation.update in libtorch, in double.
#include "algorithms/distill/distill.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/mentions.hpp"
#include "../support/random_env.hpp"
#include "comm/communicator.hpp"
#include "nets/fused/fused_nets.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, rnn, teacher_rnn, loss;
  int length = 4, epochs = 2, layers = 1;
  double max_grad_norm = 1;
  bool sees_critic_obs = true;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

TaskSpec task_of_student() {
  TaskSpec task = gaussian_task(5, 3);
  task.critic_obs_dim = 7;
  return task;
}

struct Example {
  static constexpr int64_t kEnvs = 40, kSteps = 12;
  explicit Example(const Case& c) {
    policy.actor_hidden_dims = {16, 8};
    policy.rnn_type = c.rnn, policy.rnn_hidden_dim = 12, policy.rnn_num_layers = c.layers;
    options.loss_type = c.loss, options.gradient_length = c.length, options.num_learning_epochs = c.epochs;
    options.max_grad_norm = c.max_grad_norm;
    spec = policy_spec(env.spec(), policy, options.normalizer(), /*has_critic=*/false);
    nets = make_fused_nets(*queue, spec.layout, 1);
    PolicyOptions of_teacher;
    of_teacher.actor_hidden_dims = {24}, of_teacher.activation = "tanh";
    of_teacher.rnn_type = c.teacher_rnn, of_teacher.rnn_hidden_dim = 6;
    teacher_spec = policy_spec(gaussian_task(c.sees_critic_obs ? 7 : 5, 3), of_teacher);
    teacher_nets = make_fused_nets(*queue, teacher_spec.layout, 1);
    teacher_params = Array<float>(static_cast<size_t>(teacher_spec.layout.size()));
    initialize_parameters(teacher_spec, of_teacher, 5, teacher_params);
    for (float& x : teacher_params) x *= 3;  // errors beyond the threshold of the Huber loss
    teacher.emplace(Teacher{teacher_spec, *teacher_nets, teacher_params.data(), {}, c.sees_critic_obs});
    BatchPlan plan{.num_envs = kEnvs, .num_steps = kSteps};
    plan.sequences = policy.is_recurrent();
    plan = Distill::plan(options, plan, env.spec());
    student.emplace(LearnerParts{*queue, policy, plan, 1, spec, *nets, env, nullptr, &*teacher}, options);
  }
  RandomEnv env{task_of_student(), kEnvs};
  PolicyOptions policy;
  DistillOptions options;
  std::unique_ptr<Queue> queue = host_queue();
  PolicySpec spec, teacher_spec;
  std::unique_ptr<Nets> nets, teacher_nets;
  Array<float> teacher_params;
  std::optional<Teacher> teacher;
  std::optional<Distill> student;
};

at::Tensor rows_of(const float* x, int64_t count, int64_t dim) {
  return as_double({x, static_cast<size_t>(count * dim)}).reshape({count, dim});
}

// The student's parameters, with torch.optim.Adam and torch.nn.utils.clip_grad_norm_.
struct Reference {
  Reference(const Example& s, const at::Tensor& params) : s(s), flat(params.clone()) {
    m = at::zeros_like(flat), v = at::zeros_like(flat);
  }

  // Computes the teacher's actions, from the state of its recurrent layers.
  at::Tensor labels() {
    const RolloutView& r = s.student->rollout();
    const bool critic = s.teacher->sees_critic_obs;
    at::Tensor x = rows_of(critic ? r.critic_obs : r.obs, r.samples(), critic ? 7 : 5);
    const at::Tensor params = as_double(s.teacher_params);
    if (const RnnSpec& rnn = s.teacher_spec.actor_rnn; !rnn.empty()) {
      if (!teacher_state.defined()) teacher_state = at::zeros({r.num_envs, rnn.state_size()}, at::kDouble);
      std::vector<at::Tensor> states;
      x = rnn_outputs(s.teacher_spec.layout, rnn, params, x, teacher_state, ended(0, r.num_steps), &states);
      teacher_state = states.back();
    }
    return mlp(s.teacher_spec.layout, s.teacher_spec.actor, params, x);
  }
  at::Tensor ended(int64_t first, int64_t steps) const {
    const RolloutView& r = s.student->rollout();
    at::Tensor ended = at::zeros({steps, r.num_envs}, at::kDouble);
    for (int64_t i = 0; i < steps * r.num_envs; ++i)
      ended.data_ptr<double>()[i] = r.terminated[first * r.num_envs + i] | r.truncated[first * r.num_envs + i];
    return ended;
  }

  // Sees the rollout of an iteration, before its last observations become the next rollout's first.
  void watch() {
    const RolloutView& r = s.student->rollout();
    obs = rows_of(r.obs, r.samples(), r.obs_dim).clone();
    label = labels();
    expect_close(s.student->labels(), label, 1e-5, "labels");
  }
  // Takes the gradient steps of an iteration.
  void update() {
    const RolloutView& r = s.student->rollout();
    const RnnSpec& rnn = s.spec.actor_rnn;
    const int64_t length = s.options.gradient_length;
    loss = 0;
    for (int epoch = 0; epoch < s.options.num_learning_epochs; ++epoch) {
      at::Tensor state;
      if (!rnn.empty()) state = rows_of(r.actor_state, r.num_envs, rnn.state_size()).clone();
      for (int64_t t = 0; t < r.num_steps; t += length) {
        const at::Tensor params = flat.clone().set_requires_grad(true);
        at::Tensor x = obs.narrow(0, t * r.num_envs, length * r.num_envs);
        if (!rnn.empty()) {
          std::vector<at::Tensor> states;
          x = rnn_outputs(s.spec.layout, rnn, params, x, state, ended(t, length), &states);
          state = states.back();
        }
        const at::Tensor actions = mlp(s.spec.layout, s.spec.actor, params, x);
        const at::Tensor expected = label.narrow(0, t * r.num_envs, length * r.num_envs);
        const at::Tensor all =
            s.options.loss_type == "mse" ? at::mse_loss(actions, expected, 0) : at::huber_loss(actions, expected, 0);
        const at::Tensor of_steps = all.reshape({length, -1}).mean(1);  // the steps' losses are added up
        of_steps.sum().backward();
        loss += of_steps.sum().item<double>() / static_cast<double>(r.num_steps * s.options.num_learning_epochs);
        step(params.grad());
      }
    }
  }
  void step(at::Tensor grad) {
    const double norm = grad.norm().item<double>();
    grad = grad * std::min(1.0, s.options.max_grad_norm / (norm + 1e-6));
    clipped += norm > s.options.max_grad_norm;
    ++steps;
    m = 0.9 * m + 0.1 * grad;
    v = 0.999 * v + 0.001 * grad * grad;
    const double rate = s.options.learning_rate / (1 - std::pow(0.9, steps));
    flat = flat - rate * m / ((v / (1 - std::pow(0.999, steps))).sqrt() + s.options.adam_eps);
  }

  const Example& s;
  at::Tensor flat, m, v, teacher_state, obs, label;
  double loss = 0;
  int steps = 0, clipped = 0;
};

class DistillOf : public testing::TestWithParam<Case> {};

TEST_P(DistillOf, EqualsTheUpdateOfRslRl) {
  Example s(GetParam());
  Reference expected(s, as_double(s.student->host_parameters()));
  const int steps = GetParam().epochs * static_cast<int>(Example::kSteps) / GetParam().length;
  int reductions = 0;
  Listener comm([&](std::span<const float>) {
    if (reductions++ % steps == 0) expected.watch();
  });
  for (int iteration : {0, 1, 2}) {
    s.student->iterate(iteration, comm);
    expected.update();
    const at::Tensor ours = as_double(s.student->host_parameters());
    EXPECT_LT(at::max(at::abs(ours - expected.flat)).item<double>(), 1e-5) << "iteration " << iteration;
    EXPECT_NEAR(s.student->metrics()[0].value, expected.loss, 1e-5);
  }
  EXPECT_GT(expected.clipped, GetParam().max_grad_norm < 1 ? 0 : -1);
  EXPECT_EQ(expected.steps, 3 * steps);
  EXPECT_EQ(reductions, 3 * steps);
}

INSTANTIATE_TEST_SUITE_P(
    Students, DistillOf,
    testing::Values(Case{"FeedForward", "none", "none", "mse"}, Case{"Huber", "none", "none", "huber", 12, 1},
                    Case{"Clipped", "none", "none", "mse", 3, 2, 1, 0.05, false}, Case{"Gru", "gru", "none", "mse"},
                    Case{"GruOfOneStep", "gru", "none", "mse", 1}, Case{"LstmLayers", "lstm", "gru", "huber", 6, 2, 2}),
    [](const auto& info) { return info.param.name; });

TEST(Distill, RefusesWhatItCannotLearn) {
  const auto message = [](const TaskSpec& task, int64_t steps) {
    return caught_usage_error([&] { Distill::plan(DistillOptions(), {.num_envs = 4, .num_steps = steps}, task); });
  };
  expect_mentions(message(categorical_task(2, 3), 15), {"Categorical", "discrete"});
  expect_mentions(message(gaussian_task(2, 3), 24),
                  {"--num_steps_per_env 24", "distill.gradient_length", "--num_steps_per_env 15 or 30"});
  EXPECT_EQ(message(gaussian_task(2, 3), 30), "");
}

}  // namespace
}  // namespace drl

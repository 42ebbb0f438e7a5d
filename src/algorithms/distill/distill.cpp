#include "algorithms/distill/distill.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "algorithms/make_algorithm.hpp"
#include "base/check.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

constexpr const char* kRemedy = "distill.learning_rate";

// Returns the parts of a learner whose rollout is one segment.
LearnerParts of_segment(LearnerParts parts, const DistillOptions& options) {
  parts.plan.num_steps = options.gradient_length, parts.plan.num_mini_batches = 1, parts.plan.sequences = true;
  return parts;
}

const Teacher& teacher_of(const LearnerParts& parts) {
  DRL_CHECK(parts.teacher, "distillation needs a teacher");
  return *parts.teacher;
}

// The student's noise only spreads the states that it learns from.
constexpr PresetDeviation kPresets[] = {{"", R"(
num_steps_per_env = 30
[policy]
init_std = 0.1
[distill]
obs_normalization = true
)"}};

}  // namespace

std::span<const PresetDeviation> Distill::presets() { return kPresets; }

BatchPlan Distill::plan(const DistillOptions& options, BatchPlan requested, const TaskSpec& task) {
  if (task.action.discrete)
    throw UsageError("distillation cannot learn " + task.name +
                     " (it compares continuous actions, and those of this task are discrete): use --algorithm " +
                     algorithm_names().front());
  const int64_t length = options.gradient_length, below = requested.num_steps / length * length;
  if (requested.num_steps % length != 0)
    throw UsageError("--num_steps_per_env " + std::to_string(requested.num_steps) + " is not a multiple of " +
                     std::to_string(length) +
                     " (distill.gradient_length; a rollout consists of whole segments): use --num_steps_per_env " +
                     (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + length));
  requested.num_mini_batches = static_cast<int>(requested.num_steps / length);
  BatchPlan of_samples = requested;  // mini-batches have all environments, also with recurrent layers
  of_samples.sequences = false;
  of_samples.check(kTraits.name, "--num_steps_per_env");
  return requested;
}

void Distill::check(const DistillOptions&, const PolicyOptions& policy) {
  if (policy.distribution != "gaussian")
    throw UsageError("--policy.distribution " + policy.distribution +
                     " cannot be used with --algorithm distill (a student's outputs are compared with a teacher's "
                     "actions, which are means of a Gaussian): use --policy.distribution gaussian");
  if (policy.state_dependent_std)
    throw UsageError(
        "--policy.state_dependent_std cannot be used with --algorithm distill (a student explores with the constant "
        "--policy.init_std): leave the option out");
}

Distill::Distill(const LearnerParts& parts, const DistillOptions& options)
    : OnPolicyLearner(parts, options,
                      {.loss_columns = DistillColumn::count, .remedy = kRemedy, .mini_batches_differ = true}),
      options_(options),
      teacher_(queue_, teacher_of(parts).nets, teacher_of(parts).spec, teacher_of(parts).params,
               teacher_of(parts).normalizer),
      teacher_sees_critic_obs_(parts.teacher->sees_critic_obs),
      labels_(queue_, static_cast<size_t>(rollout().samples() * rollout().out_size)),
      segment_labels_(queue_, labels_.size() / static_cast<size_t>(segments())),
      states_(queue_, static_cast<size_t>(rollout().num_envs * policy_.spec().actor_rnn.state_size())),
      rows_(queue_, static_cast<size_t>(rollout().num_envs * options.gradient_length)),
      segment_(rollout()),
      gradient_(of_segment(parts, options), policy_, segment_, kTraits.name, DistillColumn::count, [&](const auto&) {
        return DistillLoss{segment_labels_.data(), static_cast<int>(rollout().out_size), options.loss_type == "huber",
                           static_cast<float>(options.gradient_length)};
      }) {
  std::vector<int32_t> rows(rows_.size());
  std::iota(rows.begin(), rows.end(), 0);
  queue_.copy(rows_.data(), rows.data(), rows.size());
  teacher_.begin_episodes(rollout().num_envs);
  segment_.actor_state = states_.data();
  queue_.synchronize();
}

void Distill::begin(int64_t) { updates_ = 0; }

// Computes the teacher's most probable actions. A recurrent teacher takes the steps one after the other.
void Distill::compute_targets() {
  const RolloutView& r = rollout();
  const float* obs = teacher_sees_critic_obs_ ? r.critic_obs : r.obs;
  const int64_t inputs = teacher_sees_critic_obs_ ? r.critic_obs_dim : r.obs_dim;
  if (teacher_.state_size() == 0) return teacher_.forward(obs, r.samples(), labels_.data());
  for (int64_t t = 0; t < r.num_steps; ++t) {
    const int64_t row = t * r.num_envs;
    for (int64_t env = 0; env < r.num_envs; env += teacher_.tile())
      teacher_.forward(obs + (row + env) * inputs, std::min(teacher_.tile(), r.num_envs - env),
                       labels_.data() + (row + env) * r.out_size, env);
    teacher_.end_step(r.terminated + row, r.truncated + row, 0, r.num_envs);
  }
}

// Computes the gradient of the next segment.
void Distill::compute_gradient() {
  const RolloutView& r = rollout();
  const int64_t step = updates_++ % segments() * options_.gradient_length, row = step * r.num_envs;
  if (step == 0) queue_.copy(states_.data(), r.actor_state, states_.size());
  segment_.obs = r.obs + row * r.obs_dim;
  segment_.terminated = r.terminated + row, segment_.truncated = r.truncated + row;
  queue_.copy(segment_labels_.data(), labels_.data() + row * r.out_size, segment_labels_.size());
  gradient_.enqueue(rows_.data(), static_cast<int64_t>(rows_.size()), optimizer_.gradient());
  gradient_.copy_end_states(states_.data());
}

std::vector<Metric> Distill::metrics() const {
  return {{"behavior_loss", "Behavior loss", "Loss/behavior", optimizer_.mean(DistillColumn::behavior), true},
          {"gradient_norm", "Gradient norm", "Loss/gradient_norm", optimizer_.gradient_norm()},
          {"learning_rate", "Learning rate", "Loss/learning_rate", optimizer_.learning_rate(), false, "lr {:>9}"},
          {"action_std", "Action std", "Policy/mean_std", policy_.action_std(), true}};
}

void Distill::visit_own_state(StateVisitor& visitor) {
  if (teacher_.state_size() > 0)
    visitor.array("teacher/state", teacher_.states().data(), {rollout().num_envs, teacher_.state_size()},
                  Sharding::per_env, &queue_);
}

}  // namespace drl

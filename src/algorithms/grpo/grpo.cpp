#include "algorithms/grpo/grpo.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <variant>

#include "base/check.hpp"

namespace drl {
namespace {

constexpr size_t kRolloutSums = 3;  // the columns of GroupColumns

// The options in which GRPO deviates from a task's preset.
struct TaskPreset {
  std::string_view task, text;
};

constexpr TaskPreset kPresets[] = {{"CartPole-v1", R"(
num_envs = 64
max_iterations = 60
[grpo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 60
num_learning_epochs = 4
num_mini_batches = 4
group_size = 16
entropy_coef = 0
max_grad_norm = 0.5
)"},
                                   {"Acrobot-v1", R"(
num_envs = 64
max_iterations = 100
[grpo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 100
num_learning_epochs = 4
num_mini_batches = 4
group_size = 16
entropy_coef = 0.001
max_grad_norm = 0.5
)"},
                                   {"Pendulum-v1", R"(
num_envs = 128
max_iterations = 80
[grpo]
learning_rate = 2e-3
schedule = linear
schedule_iterations = 80
num_learning_epochs = 5
num_mini_batches = 8
group_size = 32
entropy_coef = 0.005
max_grad_norm = 0.5
)"},
                                   {"PushCube", R"(
num_envs = 512
max_iterations = 200
[grpo]
learning_rate = 1e-3
schedule = linear
schedule_iterations = 200
num_learning_epochs = 4
num_mini_batches = 16
group_size = 16
entropy_coef = 0
max_grad_norm = 0.5
obs_normalization = true
)"}};

}  // namespace

std::string_view Grpo::preset(std::string_view task) {
  const auto* found = std::ranges::find(kPresets, task, &TaskPreset::task);
  return found == std::end(kPresets) ? "" : found->text;
}

BatchPlan Grpo::plan(const GrpoOptions& options, BatchPlan requested, const TaskSpec& task) {
  if (task.step_limit == 0)
    throw UsageError("GRPO cannot learn " + task.name +
                     " (it compares whole episodes, and this task has no step limit): use --algorithm ppo");
  const int64_t group = options.group_size, below = requested.num_envs / group * group;
  if (requested.num_envs % group != 0)
    throw UsageError("--num_envs " + std::to_string(requested.num_envs) + " is not a multiple of " +
                     std::to_string(group) +
                     " (grpo.group_size; the environments of a group are on the same rank): use --num_envs " +
                     (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + group));
  requested.num_steps = task.step_limit;
  requested.num_mini_batches = options.num_mini_batches;
  requested.check(kName, "the step limit");
  return requested;
}

Grpo::Grpo(const LearnerParts& parts, const GrpoOptions& options)
    : OnPolicy(parts, options, {kRolloutSums, GrpoColumn::count, "grpo.learning_rate"}),
      options_(options),
      groups_(parts.plan.num_envs / options.group_size),
      reference_(parts.queue, static_cast<size_t>(count())),
      reference_log_prob_(parts.queue, options.kl_coef > 0 ? static_cast<size_t>(rollout().samples()) : 0),
      total_(parts.queue, static_cast<size_t>(parts.plan.num_envs)),
      advantage_(parts.queue, static_cast<size_t>(parts.plan.num_envs)),
      length_(parts.queue, static_cast<size_t>(parts.plan.num_envs)),
      deviation_(parts.queue, static_cast<size_t>(groups_)) {
  if (options.kl_coef > 0) reference_policy_.emplace(queue(), nets(), spec(), reference_.data(), normalizers().obs);
  const GrpoSettings settings{static_cast<float>(options_.clip_param), static_cast<float>(options_.entropy_coef),
                              static_cast<float>(options_.kl_coef)};
  const float* reference = options_.kl_coef > 0 ? reference_log_prob_.data() : rollout().log_prob;
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        set_loss(LossId::grpo,
                 GrpoLoss<Policy>{policy, rollout(), settings, advantage_.data(), length_.data(), reference});
      },
      distribution());
}

void Grpo::prepare_iteration(int64_t iteration) {
  const int64_t interval = options_.reference_interval;
  if (iteration > 0 && (interval == 0 || iteration % interval != 0)) return;
  queue().copy(reference_.data(), params(), reference_.size());
  if (reference_policy_) reference_policy_->repack();
}

void Grpo::enqueue_before_rollout(const int64_t* lifetime_step) {
  envs().reset(queue(), rollout_arrays().start_row(), {{lifetime_step}, options_.group_size});
}

void Grpo::enqueue_rollout_sums(double* out) {
  const RolloutView& r = rollout();
  for_each(queue(), r.num_envs, FirstEpisodes{r, total_.data(), length_.data()});
  for_each(queue(), groups_, GroupAdvantages{options_.group_size, total_.data(), advantage_.data(), deviation_.data()});
  sum_columns(queue(), groups_, kRolloutSums, scratch(), GroupColumns{deviation_.data()}, StoreTo{out});
  if (reference_policy_) enqueue_reference();
}

// Enqueues the log-probabilities of the rollout's actions under the reference policy. Its input is normalised with the
// current normaliser.
void Grpo::enqueue_reference() {
  const RolloutView& r = rollout();
  for (int64_t first = 0; first < r.samples(); first += tile_rows()) {
    const int64_t count = std::min(tile_rows(), r.samples() - first);
    reference_policy_->forward(r.obs + first * r.obs_dim, count, tile().policy_out);
    std::visit(
        [&]<class Policy>(const Policy& policy) {
          for_each(queue(), count,
                   LogProbs<Policy>{policy, r, first, tile().policy_out, tile().d_policy, reference_log_prob_.data()});
        },
        reference_policy_->distribution());
  }
}

std::vector<Metric> Grpo::metrics() const {
  const double groups = rollout_sums()[0];
  const double reference_kl =
      options_.kl_coef > 0 ? mean(GrpoColumn::reference_kl) : std::numeric_limits<double>::quiet_NaN();
  return {{"surrogate_loss", "Surrogate loss", "Loss/surrogate", mean(GrpoColumn::surrogate), true},
          {"entropy", "Entropy", "Loss/entropy", mean(GrpoColumn::entropy), true},
          {"kl", "KL", "Policy/kl", mean(kKl), false, "kl {:>9}"},
          {"reference_kl", "KL of reference", "Policy/reference_kl", reference_kl},
          {"clip_fraction", "Clip fraction", "Policy/clip_fraction", mean(GrpoColumn::clipped)},
          {"gradient_norm", "Gradient norm", "Loss/gradient_norm", gradient_norm()},
          {"learning_rate", "Learning rate", "Loss/learning_rate", learning_rate(), false, "lr {:>9}"},
          {"action_std", "Action std", "Policy/mean_std", action_std(), true},
          {"group_std", "Std in groups", "Train/group_std", rollout_sums()[1] / groups},
          {"equal_groups", "Equal groups", "Train/equal_groups", rollout_sums()[2] / groups}};
}

void Grpo::visit_state(StateVisitor& visitor) {
  OnPolicy::visit_state(visitor);
  visit_parameters(visitor, "reference/parameters", reference_.data());
}

void Grpo::state_changed() {
  if (reference_policy_) reference_policy_->repack();
  OnPolicy::state_changed();
}

}  // namespace drl

#include "algorithms/grpo/grpo.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <variant>

#include "algorithms/make_algorithm.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

constexpr const char* kRemedy = "grpo.learning_rate";
constexpr int64_t kGroupColumns = 3;

}  // namespace

BatchPlan Grpo::plan(const GrpoOptions& options, BatchPlan requested, const TaskSpec& task) {
  if (task.step_limit == 0)
    throw UsageError("GRPO cannot learn " + task.name +
                     " (it compares whole episodes, and this task has no step limit): use --algorithm " +
                     algorithm_names().front());
  const int64_t group = options.group_size;
  if (requested.num_envs % group != 0)
    throw EnvCountError(
        "--num_envs " + std::to_string(requested.num_envs) + " is not a multiple of " + std::to_string(group),
        "grpo.group_size; the environments of a group are on the same rank", requested.num_envs, group);
  requested.num_steps = task.step_limit;
  requested.num_mini_batches = options.num_mini_batches;
  requested.check(kTraits.name, "the step limit");
  return requested;
}

Grpo::Grpo(const LearnerParts& parts, const GrpoOptions& options)
    : OnPolicyLearner(parts, options,
                      {.loss_columns = GrpoColumn::count, .remedy = kRemedy, .episodes_continue = false}),
      options_(options),
      groups_(parts.plan.num_envs / options.group_size),
      deviations_(slots_.add(kGroupColumns)),
      reference_(queue_, static_cast<size_t>(parts.spec.layout.size())),
      reference_log_prob_(queue_, options.kl_coef > 0 ? static_cast<size_t>(rollout().samples()) : 0),
      total_(queue_, static_cast<size_t>(parts.plan.num_envs)),
      advantage_(queue_, static_cast<size_t>(parts.plan.num_envs)),
      length_(queue_, static_cast<size_t>(parts.plan.num_envs)),
      deviation_(queue_, static_cast<size_t>(groups_)),
      scratch_(queue_, sum_scratch(queue_, kGroupColumns)),
      gradient_(parts, policy_, rollout(), kTraits.name, GrpoColumn::count, [this](const auto& distribution) {
        const GrpoSettings settings{static_cast<float>(options_.clip_param), static_cast<float>(options_.kl_coef)};
        const float* reference = options_.kl_coef > 0 ? reference_log_prob_.data() : rollout().log_prob;
        return GrpoLoss{distribution,      rollout(),      settings, rounds_.inputs(),
                        advantage_.data(), length_.data(), reference};
      }) {
  if (options.kl_coef > 0)
    reference_policy_.emplace(queue_, parts.nets, policy_.spec(), reference_.data(), policy_.normalizers().obs);
  if (reference_policy_) reference_policy_->begin_episodes(rollout().num_envs);
}

// Every few iterations, the policy becomes the new reference policy. This is never recorded.
void Grpo::begin(int64_t iteration) {
  const int64_t interval = options_.reference_interval;
  if (iteration > 0 && (interval == 0 || iteration % interval != 0)) return;
  queue_.copy(reference_.data(), policy_.parameters(), reference_.size());
  if (reference_policy_) reference_policy_->repack();
}

// Every rollout starts with a reset.
void Grpo::collect() {
  sampler_.enqueue_reset({{rounds_.lifetime_step()}, options_.group_size});
  OnPolicyLearner::collect();
}

// Compares the episodes of each group.
void Grpo::compute_targets() {
  const RolloutView& r = rollout();
  for_each(queue_, r.num_envs, FirstEpisodes{r, total_.data(), length_.data()});
  for_each(queue_, groups_, GroupAdvantages{options_.group_size, total_.data(), advantage_.data(), deviation_.data()});
  sum_columns(queue_, groups_, kGroupColumns, scratch_.data(), GroupColumns{deviation_.data()},
              StoreTo{slots_.at(deviations_)});
  if (reference_policy_) compute_reference();
}

// Computes the log-probabilities of the rollout's actions under the reference policy. Its input is normalised with the
// current normaliser.
void Grpo::compute_reference() {
  const RolloutView& r = rollout();
  const LossTile& tile = gradient_.tile();
  // Computes those of `count` samples from `first` on, whose environments are first_env, first_env + 1, ...
  const auto compute = [&](int64_t first, int64_t count, int64_t first_env) {
    reference_policy_->forward(r.obs + first * r.obs_dim, count, tile.policy_out, first_env);
    std::visit(
        [&]<class Policy>(const Policy& policy) {
          for_each(queue_, count,
                   LogProbs<Policy>{policy, r, first, tile.policy_out, tile.d_policy, reference_log_prob_.data()});
        },
        reference_policy_->distribution());
  };
  const bool steps_in_order = reference_policy_->state_size() > 0;
  reference_policy_->restart_episodes();
  for (int64_t begin = 0, end = 0; begin < r.samples(); begin = end) {  // all samples, or those of a step
    end = steps_in_order ? begin + r.num_envs : r.samples();
    for (int64_t first = begin; first < end; first += gradient_.tile_rows())
      compute(first, std::min(gradient_.tile_rows(), end - first), first - begin);
    if (steps_in_order) reference_policy_->end_step(r.terminated + begin, r.truncated + begin, 0, r.num_envs);
  }
}

void Grpo::compute_gradient() { gradient_.enqueue(next_rows(), rounds_.plan().rows(), optimizer_.gradient()); }

void Grpo::read() {
  const std::span<const double> groups = slots_.sums(deviations_);
  group_std_ = groups[1] / groups[0], equal_groups_ = groups[2] / groups[0];
}

std::vector<Metric> Grpo::metrics() const {
  const double reference_kl =
      options_.kl_coef > 0 ? optimizer_.mean(GrpoColumn::reference_kl) : std::numeric_limits<double>::quiet_NaN();
  return {{"surrogate_loss", "Surrogate loss", "Loss/surrogate", optimizer_.mean(GrpoColumn::surrogate), true},
          {"entropy", "Entropy", "Loss/entropy", optimizer_.mean(GrpoColumn::entropy), true},
          {"kl", "KL", "Policy/kl", optimizer_.mean(kKl), false, "kl {:>9}"},
          {"reference_kl", "KL of reference", "Policy/reference_kl", reference_kl},
          {"clip_fraction", "Clip fraction", "Policy/clip_fraction", optimizer_.mean(GrpoColumn::clipped)},
          {"gradient_norm", "Gradient norm", "Loss/gradient_norm", optimizer_.gradient_norm()},
          {"learning_rate", "Learning rate", "Loss/learning_rate", optimizer_.learning_rate(), false, "lr {:>9}"},
          {"action_std", "Action std", "Policy/mean_std", policy_.action_std(), true},
          {"group_std", "Std in groups", "Train/group_std", group_std_},
          {"equal_groups", "Equal groups", "Train/equal_groups", equal_groups_}};
}

void Grpo::visit_own_state(StateVisitor& visitor) {
  visit_as_parameters(visitor, "reference/parameters", policy_.spec().layout, reference_.data(), queue_);
}

void Grpo::state_changed() {
  if (reference_policy_) reference_policy_->repack();
  OnPolicyLearner::state_changed();
}

}  // namespace drl

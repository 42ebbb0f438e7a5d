// Chooses what actor and critic observe (--env.actor_obs, --env.hidden_obs).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "device/array.hpp"
#include "envs/group_kernels.hpp"
#include "envs/wrapped_envs.hpp"

namespace drl {

// The groups of a task's observations: those of observe(), and those of observe_critic().
enum class ObservationGroup : int32_t { policy, critic };

struct EnvConfig;  // envs/task_envs.hpp

struct GroupPlan {
  ObservationGroup actor = ObservationGroup::policy;
  // The critic observes the numbers of this group, also those hidden from the actor. nullopt: as the task says.
  std::optional<ObservationGroup> critic{};
  std::vector<int32_t> hidden{};              // numbers of the task's observation that are hidden from the actor
  std::vector<int32_t> hidden_from_critic{};  // numbers of `critic`, for a teacher that has not seen them

  bool any() const { return actor != ObservationGroup::policy || critic || !hidden.empty(); }
  // Throws UsageError if the task has no such group.
  TaskSpec spec(TaskSpec task) const;
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> envs, const EnvConfig& config, Queue& queue) const;
};

// The options env.actor_obs and env.hidden_obs.
struct GroupOptions {
  std::string actor = "policy", hidden = "none";

  void describe(OptionVisitor& v);
  using Plan = GroupPlan;
  // Throws UsageError if a name is not that of an observation, or if none would be left for the actor.
  Plan plan(const TaskSpec& task) const;

 private:
  std::vector<int32_t> hidden_numbers(const TaskSpec& task) const;
};

class GroupedEnvs final : public WrappedEnvs {
 public:
  GroupedEnvs(std::unique_ptr<VecEnv> envs, const GroupPlan& plan, Queue& queue);

  const TaskSpec& spec() const override { return spec_; }
  void reset(Queue& queue, const StepRow& row, const Start& start) override;
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    wrapped().announce_step(queue, step, begin, count, inner(row));
  }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;

 private:
  // The wrapped environments' observations of a group.
  struct Group {
    int64_t width = 0;
    Array<float> now, last;  // [N, width], [last_rows, N, width]
  };
  // The numbers of a group that actor or critic observe.
  struct View {
    ObservationGroup group;
    Array<int32_t> index;
  };
  Group& group(ObservationGroup which) { return which == ObservationGroup::policy ? policy_ : critic_; }
  SelectedNumbers selected(const View& view);
  // Returns the row that the wrapped environments write. Allocates the memory of last observations.
  StepRow inner(StepRow row);

  Queue& queue_;
  TaskSpec spec_;
  Group policy_, critic_;
  View actor_view_, critic_view_;
  bool passes_critic_;  // the critic observes what the task says
};

}  // namespace drl

// Chooses what actor and critic observe (--env.actor_obs, --env.hidden_obs).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "device/array.hpp"
#include "envs/group_kernels.hpp"
#include "envs/vec_env.hpp"

namespace drl {

// The groups of a task's observations: those of observe(), and those of observe_critic().
enum class ObservationGroup : int32_t { policy, critic };

// It is part of TaskParams::bytes(), so it has no padding.
struct GroupPlan {
  ObservationGroup actor = ObservationGroup::policy;
  int32_t has_other_critic = 0;                        // 1: the critic observes `critic`; 0: as the task says
  ObservationGroup critic = ObservationGroup::critic;  // all numbers of this group, also those hidden from the actor
  int32_t hidden_count = 0;                            // how many numbers are hidden from the actor
  bool any() const { return actor != ObservationGroup::policy || has_other_critic || hidden_count > 0; }
};

struct GroupOptions {
  std::string actor = "policy", hidden = "none";

  void describe(OptionVisitor& v);
  ObservationGroup actor_group() const {
    return actor == "critic" ? ObservationGroup::critic : ObservationGroup::policy;
  }
  // Returns the numbers of the task's observation that are hidden from the actor. Throws UsageError if a name is not
  // that of an observation, or if none would be left.
  std::vector<int32_t> hidden_numbers(const TaskSpec& task) const;
};

// Returns the task as its learner sees it. Throws UsageError if the task has no such group.
TaskSpec grouped_spec(TaskSpec task, const GroupPlan& plan, const std::vector<int32_t>& hidden);

class GroupedEnvs final : public VecEnv {
 public:
  GroupedEnvs(std::unique_ptr<VecEnv> envs, const GroupPlan& plan, const std::vector<int32_t>& hidden, Queue& queue);

  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return envs_->num_envs(); }
  bool steps_on_host() const override { return envs_->steps_on_host(); }
  std::string host_speeds() const override { return envs_->host_speeds(); }
  void reset(Queue& queue, const StepRow& row, const Start& start) override;
  void announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    envs_->announce_step(queue, step, begin, count, inner(row));
  }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override;
  void take_episode_sums(Queue& queue, double* out, double* scratch) override {
    envs_->take_episode_sums(queue, out, scratch);
  }
  void draw(int64_t env, const CanvasCalls& canvas) override { envs_->draw(env, canvas); }
  void visit_state(StateVisitor& visitor) override { envs_->visit_state(visitor); }
  std::string files() const override { return envs_->files(); }
  void visit_shared_state(StateVisitor& visitor) override { envs_->visit_shared_state(visitor); }
  void iteration_ended(Queue& queue, int64_t iteration, const EpisodeSums& episodes, std::vector<float>& now) override {
    envs_->iteration_ended(queue, iteration, episodes, now);
  }

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

  std::unique_ptr<VecEnv> envs_;
  Queue& queue_;
  TaskSpec spec_;
  Group policy_, critic_;
  View actor_view_, critic_view_;
  bool passes_critic_;  // the critic observes what the task says
};

}  // namespace drl

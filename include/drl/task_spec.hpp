// What a learner needs to know of a task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drl {

struct ActionSpace {
  bool discrete = false;
  int size = 1;                  // discrete: the number of choices, of all heads together; continuous: the dimension
  std::vector<float> low, high;  // continuous: bounds [size]; the environment receives actions clipped to them
  std::vector<float> scale = {}, offset = {};  // [size] or empty: the task's step gets offset + scale * clipped action

  std::vector<int> heads = {};  // discrete, where an action is several choices at once: how many each has

  int head_count() const { return heads.empty() ? 1 : static_cast<int>(heads.size()); }
  int choices(int head) const { return heads.empty() ? size : heads[static_cast<size_t>(head)]; }
  int numbers() const { return discrete ? head_count() : size; }  // 4 bytes each, that an action consists of
};

struct TaskSpec {
  std::string name;
  int obs_dim = 0;
  int critic_obs_dim = 0;  // 0: the critic sees what the actor sees
  ActionSpace action;
  int step_limit = 0;                     // steps until an episode is truncated; 0: none
  double dt = 0;                          // seconds a step
  std::vector<std::string> reward_terms;  // names; the reward is their sum
  bool truncates = false;                 // the task may cut an episode itself, at any step
  std::vector<std::string> metrics = {};  // names; each is a mean over the steps of an episode
  std::vector<std::string> ends = {};  // names of why episodes end, "time_out" (the step limit) behind the task's own
  std::vector<std::string> curriculum = {};  // names of the numbers that change as the training goes on
  bool finite_horizon = false;               // a time-out is an end like any other: terminated, never truncated
};

}  // namespace drl

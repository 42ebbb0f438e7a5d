// What a learner needs to know of a task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drl {

struct ActionSpace {
  bool discrete = false;
  int size = 1;                  // discrete: the number of actions; continuous: the dimension
  std::vector<float> low, high;  // continuous: bounds [size]; the environment receives actions clipped to them

  int numbers() const { return discrete ? 1 : size; }  // 4 bytes each, that an action consists of
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
};

}  // namespace drl

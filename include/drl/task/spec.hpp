// The properties of a task that a learner needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drl/task/mirror.hpp"

namespace drl {

// Names consecutive numbers of an observation or action: "joint_pos", in rad, 12 numbers. In its unit, an action has
// the value offset + scale * action. An action that is the target of a position controller may give the controller's
// stiffness and damping: N m/rad and N m s/rad for an angle, N/m and N s/m for a length.
struct Quantity {
  const char* name;
  const char* unit = "";
  int count = 1;
  double scale = 1, offset = 0;
  double stiffness = 0, damping = 0;
};

// One of the bounds that a policy must keep to pass the gate of a task (drl_eval --gate). The quantity is "return" (the
// mean of the episodes' returns), "early_ends" (the share of episodes that end before the step limit), or a metric.
// `during` names a second metric, which is 1 in the steps that count and 0 in others, where the first must be 0, too.
// The mean is then that of the steps that count.
struct GateBound {
  const char* quantity;
  double least, most;
  const char *unit = "", *during = nullptr;
};

// The name of a single number: "joint_pos[3]".
struct NamedNumber {
  std::string name, unit;
  double scale = 1, offset = 0;
  double stiffness = 0, damping = 0;
  int steps_before = 0;  // an observation of a task with a history: of how many steps ago
};

struct ActionSpace {
  bool discrete = false;
  int size = 1;                  // discrete: the number of choices, summed over all heads; continuous: the dimension
  std::vector<float> low, high;  // continuous: bounds [size]; the environment receives actions clipped to them
  std::vector<float> scale = {}, offset = {};  // [size] or empty: step() receives offset + scale * clipped action

  std::vector<int> heads = {};  // multi-discrete: the number of choices of each head; else empty

  int head_count() const { return heads.empty() ? 1 : static_cast<int>(heads.size()); }
  int choices(int head) const { return heads.empty() ? size : heads[static_cast<size_t>(head)]; }
  int numbers() const { return discrete ? head_count() : size; }  // how many 4-byte numbers an action consists of
  // Returns what step() receives for number k of a clipped, continuous action.
  float received(size_t k, float clipped) const { return scale.empty() ? clipped : offset[k] + scale[k] * clipped; }
};

// Signed permutations that mirror observations and actions; empty if the task has no symmetry. A discrete action's
// numbers are its choices.
struct Mirror {
  std::vector<MirroredNumber> obs, critic_obs, action;  // [obs_dim], [critic_obs_dim], [action.size]
  bool empty() const { return obs.empty(); }
};

struct TaskSpec {
  std::string name;
  int obs_dim = 0;
  int critic_obs_dim = 0;  // 0: the critic receives the actor's observation
  ActionSpace action;
  int step_limit = 0;                        // steps until an episode is truncated; 0: none
  double dt = 0;                             // seconds per step
  std::vector<std::string> reward_terms;     // names; the reward is the sum of the terms
  bool truncates = false;                    // the task may truncate an episode itself, at any step
  std::vector<std::string> metrics = {};     // names; each is a mean over the steps of an episode
  std::vector<std::string> ends = {};        // names of the causes of an episode's end; the last is "time_out" if there
                                             // is a step limit
  std::vector<std::string> curriculum = {};  // names of the numbers that change during training
  std::vector<NamedNumber> observations = {};  // [obs_dim], or empty if the task does not name them
  std::vector<NamedNumber> actions = {};       // [action.numbers()], or empty
  std::vector<std::string> commands = {};      // names of the commands that the policy follows
  bool finite_horizon = false;                 // a time-out counts as terminated, never as truncated
  Mirror mirror = {};
  std::vector<GateBound> gate = {};  // empty: the task has no gate
  std::string gate_options = {};     // lines NAME = VALUE of the task's options with which it is played
};

}  // namespace drl

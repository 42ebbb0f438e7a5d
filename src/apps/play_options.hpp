// The options of drl_eval and drl_view that say who plays what.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "apps/eval_policy.hpp"
#include "base/options.hpp"
#include "policy/actor.hpp"

namespace drl {

struct PlayOptions {
  std::string run, checkpoint, pretrained, agent = "policy", task;
  std::vector<std::string> task_library;
  int64_t seed = 0;
  bool stochastic = false;
  std::string physics = "run", xml_file;
  int threads = 1;

  void describe_policy(OptionVisitor& v) {
    v("run", run, "run directory, or a run's name; its newest checkpoint is played", as_path);
    v("checkpoint", checkpoint, "checkpoint file to play", as_path);
    v("pretrained", pretrained, "name of a policy that comes with drl, such as Go1-Velocity-Flat");
    v("agent", agent, "who acts: the policy, or an agent without one: zero (actions 0) or random",
      one_of({"policy", "zero", "random"}));
    v("task", task, "the task that --agent zero or random plays", not_with("agent", "policy"));
    v("task_library", task_library, "also load tasks from this library; may be repeated", as_path);
  }
  void describe_actions(OptionVisitor& v) {
    v("seed", seed, "seed of initial states and noise", at_least(0));
    v("stochastic", stochastic, "sample actions from the policy instead of taking the most probable ones",
      only_with("agent", "policy"));
  }
  void describe_task(OptionVisitor& v) {
    v("physics", physics,
      "physics engine of a robot: run (that of the run), lanes (drl's vectorised physics) or mujoco (libmujoco)",
      one_of({"run", "lanes", "mujoco"}));
    v("xml_file", xml_file, "use this MJCF file instead of the robot model that the run used", as_path);
    v("threads", threads, "number of threads", at_least(1));
  }
  ActionChoice choice() const {
    return stochastic || agent == "random" ? ActionChoice::sample : ActionChoice::most_probable;
  }
  TaskChanges changes(const std::vector<NamedValue>& task_options) const { return {task_options, physics, xml_file}; }
};

// Returns the checkpoint that the options name, or "" for an agent without a policy. Throws UsageError if they name
// none, or several.
std::string checkpoint_of(const PlayOptions& options);

// Parses a command line, in which a run may stand without --run, and applies all but the options of the task. Returns
// both parts. `who` begins the error's text: "drl_eval evaluates".
std::pair<std::vector<NamedValue>, std::vector<NamedValue>> parse_play_options(
    OptionTable& table, const std::string& who, const std::vector<std::string>& arguments);

// Returns false on ranks other than the first. Throws UsageError if there are several ranks, or if this process's
// limits are too low.
bool is_only_rank(const std::string& program);

}  // namespace drl

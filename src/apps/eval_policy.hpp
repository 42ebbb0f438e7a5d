// The policy that drl_eval plays.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "nets/host_nets.hpp"
#include "policy/actor.hpp"
#include "run/option_files.hpp"
#include "run/policy_match.hpp"
#include "run/pretrained.hpp"
#include "run/run_manifest.hpp"
#include "run/state.hpp"
#include "run/train_options.hpp"

namespace drl {

// Options of a task that replace those of the run.
struct TaskChanges {
  std::vector<NamedValue> options;        // --env. options
  std::string physics = "run", xml_file;  // values of these options
};

// Networks, ready to act: those of a checkpoint, or those of an agent without a policy.
class EvalPolicy {
 public:
  EvalPolicy(const Checkpoint& checkpoint, const std::string& file, const TaskChanges& changes, int threads)
      : EvalPolicy(task_of(checkpoint, file), attribute<std::string>(checkpoint, file, "options"), file, changes,
                   threads) {
    require_policy_of_task(checkpoint, file, spec_);
    warn_if_physics_changed(checkpoint, file, *options_.env);
    warn_if_contents_changed(checkpoint, file, *options_.env);
    const TaskSpec task = task_spec(task_, setup());
    // Without all its numbers, for an agent without a policy or one of an older task, it stays empty: the task's own.
    if (std::ranges::all_of(task.curriculum,
                            [&](const std::string& number) { return checkpoint.find("curriculum/" + number); }))
      curriculum_.resize(task.curriculum.size());
    StateList state = list_state([&](StateVisitor& visitor) {
      for (size_t k = 0; k < curriculum_.size(); ++k)
        visitor.array("curriculum/" + task.curriculum[k], &curriculum_[k], {1});
      memory_->visit_state(visitor);
    });
    if (is_policy_alone(checkpoint)) state = actor_state(state);
    require_state(state, checkpoint, file);
    restore_state(state, checkpoint, *make_serial_communicator());
    actor_.emplace(*queue_, *nets_, spec_, memory_->params.data(), memory_->normalizer());
  }

  // The agents "zero" and "random": all outputs of the network are 0, which is the mean of the random actions.
  EvalPolicy(const std::string& task, const TaskChanges& changes, int threads)
      : EvalPolicy(own_task_name(task), "", "", changes, threads) {
    Array<float>& params = memory_->params;
    std::ranges::fill(params, 0.0f);
    if (spec_.std >= 0 && !spec_.log_std)  // the standard deviation itself
      std::fill_n(params.data() + spec_.std_offset(), spec_.layout.slices()[static_cast<size_t>(spec_.std)].count(),
                  1.0f);
    actor_.emplace(*queue_, *nets_, spec_, params.data(), NormalizerView{});
  }

  const std::string& task() const { return task_; }
  EnvSetup setup() const { return options_.env->setup(); }
  // Returns a table of the task's own options, whose names begin with "env.". Values that are set there are in setup().
  OptionTable task_options() {
    OptionTable table;
    table.section("env", "Task", *options_.env);
    return table;
  }
  const std::vector<float>& curriculum() const { return curriculum_; }
  const PolicySpec& spec() const { return spec_; }
  Actor& actor() { return *actor_; }

 private:
  // `options_ini` are the options of the run, from the checkpoint `file`.
  EvalPolicy(const std::string& task, const std::string& options_ini, const std::string& file,
             const TaskChanges& changes, int threads)
      : queue_(make_host_queue(isa_of("auto"))), task_(task) {
    options_.take_recorded(task_, options_ini, file, [&](OptionTable& table) { apply(table, changes); });
    spec_ = options_.policy_spec();
    nets_ = make_host_nets(*queue_, spec_.layout, options_.train.nets, threads, options_.train.precision);
    memory_.emplace(*queue_, spec_);
  }
  static std::string task_of(const Checkpoint& checkpoint, const std::string& file) {
    load_task_of(checkpoint, file);
    return attribute<std::string>(checkpoint, file, "task");
  }
  void apply(OptionTable& table, const TaskChanges& changes) const {
    const auto is_given = [&](const std::string& name) {
      return std::ranges::find(changes.options, "env." + name, &NamedValue::name) != changes.options.end();
    };
    const auto set = [&](const std::string& name, const std::string& value) {
      if (is_given(name))
        throw UsageError("--" + name + " and --env." + name +
                         " set the same option (they may contradict each other): give only one of them");
      if (options_.env->physics().empty())
        throw UsageError("--" + name + " " + value + " cannot be used (the task " + task_ +
                         " has no robot): leave it out");
      table.set("env." + name, value);
    };
    table.apply(changes.options);
    table.require_limits(changes.options);
    std::vector<Circumstance> facts = options_.env->circumstances();
    facts.push_back({"hardware", "cpu", "drl_eval computes on CPUs"});
    for (const std::string& warning : table.without_effect(changes.options, facts)) log::warn("{}", warning);
    if (!changes.xml_file.empty()) {
      set("xml_file", changes.xml_file);
      if (!is_given("physics")) table.set("env.physics", "auto");
    }
    if (changes.physics != "run") set("physics", changes.physics);
  }

  std::unique_ptr<Queue> queue_;
  Options options_;
  std::string task_;
  PolicySpec spec_;
  std::unique_ptr<Nets> nets_;
  std::optional<PolicyMemory> memory_;
  std::vector<float> curriculum_;
  std::optional<Actor> actor_;
};

}  // namespace drl

// The table of learning algorithms.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/batch_plan.hpp"
#include "algorithms/on_policy.hpp"
#include "base/options.hpp"
#include "policy/spec.hpp"

namespace drl {

// An algorithm's name, options and defaults, and the factory of its learner.
class AlgorithmKind {
 public:
  virtual ~AlgorithmKind() = default;
  virtual std::string_view name() const = 0;   // "ppo": the value of --algorithm and the section of its options
  virtual std::string_view title() const = 0;  // "PPO"
  virtual void add_to(OptionTable& table) = 0;
  virtual const UpdateOptions& update_options() const = 0;
  virtual bool has_critic() const = 0;
  // Returns whether each rollout has the whole episodes of its environments, instead of --num_steps_per_env steps.
  virtual bool collects_episodes() const = 0;
  // Returns the options in which the algorithm deviates from the task's preset, in the syntax of --config files.
  virtual std::string_view preset(std::string_view task) const = 0;
  virtual PolicySpec policy(const TaskSpec& task, const PolicyOptions& options) const = 0;
  // Returns the rollout's shape and mini-batches for the requested environments and steps. Throws UsageError if the
  // algorithm cannot learn the task, if its options contradict each other, or if the environments do not divide evenly.
  virtual BatchPlan plan(const BatchPlan& requested, const TaskSpec& task) const = 0;
  virtual std::unique_ptr<Algorithm> make(const LearnerParts& parts) const = 0;
};

template <class Learner>
class AlgorithmKindOf final : public AlgorithmKind {
 public:
  std::string_view name() const override { return Learner::kName; }
  std::string_view title() const override { return Learner::kTitle; }
  void add_to(OptionTable& table) override {
    table.section(Learner::kName, Learner::kTitle, options_, {only_with("algorithm", std::string(Learner::kName))});
  }
  const UpdateOptions& update_options() const override { return options_; }
  bool has_critic() const override { return Learner::kHasCritic; }
  bool collects_episodes() const override { return Learner::kCollectsEpisodes; }
  std::string_view preset(std::string_view task) const override { return Learner::preset(task); }
  PolicySpec policy(const TaskSpec& task, const PolicyOptions& options) const override {
    return policy_spec(task, options, options_.normalizer(), Learner::kHasCritic);
  }
  BatchPlan plan(const BatchPlan& requested, const TaskSpec& task) const override {
    return Learner::plan(options_, requested, task);
  }
  std::unique_ptr<Algorithm> make(const LearnerParts& parts) const override {
    return std::make_unique<Learner>(parts, options_);
  }

 private:
  typename Learner::Options options_;
};

// Returns all algorithms with default options, the default algorithm first.
std::vector<std::unique_ptr<AlgorithmKind>> all_algorithms();
std::vector<std::string> algorithm_names();

}  // namespace drl

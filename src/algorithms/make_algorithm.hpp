// The table of learning algorithms.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/batch_plan.hpp"
#include "algorithms/learner_parts.hpp"
#include "base/options.hpp"
#include "policy/spec.hpp"

namespace drl {

// The program's view of an algorithm, which answers these questions itself.
class AlgorithmKind {
 public:
  virtual ~AlgorithmKind() = default;
  virtual std::string_view name() const = 0;   // "ppo": the value of --algorithm and the section of its options
  virtual std::string_view title() const = 0;  // "PPO"
  virtual bool needs_teacher() const = 0;      // LearnerParts::teacher
  virtual void describe(OptionTable& table) = 0;
  virtual std::span<const PresetDeviation> presets() const = 0;
  // Returns the facts about the algorithm that decide whether options have an effect.
  virtual std::vector<Circumstance> circumstances() const = 0;
  // Returns warnings about the iterations after the first `done` of `max_iterations`, with the options to change.
  virtual std::vector<std::string> warnings(int64_t done, int64_t max_iterations) const = 0;
  virtual PolicySpec policy(const TaskSpec& task, const PolicyOptions& options) const = 0;
  // Returns the rollout's shape and mini-batches for the requested environments and steps. Throws UsageError if the
  // algorithm cannot learn the task, if its options contradict each other, or if the environments do not divide evenly.
  virtual BatchPlan plan(const BatchPlan& requested, const TaskSpec& task) const = 0;
  // Returns what an iteration does with its samples, for users: "5 epochs of 4 mini-batches of 1,024 samples".
  virtual std::string describe_update(const BatchPlan& plan) const = 0;
  virtual std::unique_ptr<Algorithm> make(const LearnerParts& parts) const = 0;
};

// A learner has the static members kTraits, presets(), check(options, policy) and plan(options, requested, task), and a
// type Options with describe(), circumstances(), warnings(), describe_update() and normalizer(), as UpdateOptions has
// them.
template <class Learner>
class AlgorithmKindOf final : public AlgorithmKind {
 public:
  std::string_view name() const override { return kTraits.name; }
  std::string_view title() const override { return kTraits.title; }
  bool needs_teacher() const override { return kTraits.needs_teacher; }
  void describe(OptionTable& table) override {
    table.section(std::string(name()), std::string(title()), options_, {only_with("algorithm", std::string(name()))});
  }
  std::span<const PresetDeviation> presets() const override { return Learner::presets(); }
  std::vector<Circumstance> circumstances() const override {
    const std::string title(kTraits.title);
    std::vector<Circumstance> all = options_.circumstances();
    all.push_back({"critic", kTraits.has_critic ? "yes" : "no", title + " has no critic"});
    all.push_back({"replay", kTraits.is_off_policy ? "yes" : "no", title + " has no replay buffer"});
    all.push_back({"rollout", kTraits.collects_episodes ? "episodes" : "steps", title + " collects whole episodes"});
    return all;
  }
  std::vector<std::string> warnings(int64_t done, int64_t max_iterations) const override {
    return options_.warnings(name(), done, max_iterations);
  }
  PolicySpec policy(const TaskSpec& task, const PolicyOptions& options) const override {
    Learner::check(options_, options);
    PolicySpec spec = policy_spec(task, options, options_.normalizer(), kTraits.has_critic && !kTraits.is_off_policy);
    if constexpr (kTraits.is_off_policy) spec.separate_critic = options_.critic_net(task, options);
    return spec;
  }
  BatchPlan plan(const BatchPlan& requested, const TaskSpec& task) const override {
    return Learner::plan(options_, requested, task);
  }
  std::string describe_update(const BatchPlan& plan) const override { return options_.describe_update(plan); }
  std::unique_ptr<Algorithm> make(const LearnerParts& parts) const override {
    return std::make_unique<Learner>(parts, options_);
  }

 private:
  static constexpr AlgorithmTraits kTraits = Learner::kTraits;
  typename Learner::Options options_;
};

// Returns all algorithms with default options, the default algorithm first.
std::vector<std::unique_ptr<AlgorithmKind>> all_algorithms();
std::vector<std::string> algorithm_names();
std::string algorithm_with_teacher();  // the name of the first one that needs a teacher

}  // namespace drl

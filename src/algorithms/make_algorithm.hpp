// The table of learning algorithms.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/batch_plan.hpp"
#include "algorithms/learner_parts.hpp"
#include "algorithms/optimizer.hpp"
#include "base/format.hpp"
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
  // Returns the facts about the algorithm that decide whether options have an effect.
  virtual std::vector<Circumstance> circumstances() const = 0;
  virtual std::string describe_update() const = 0;  // "5 epochs of 4 mini-batches", for users
  // Returns a warning about the iterations after the first `done` of `max_iterations`, or "".
  virtual std::string warning(int64_t done, int64_t max_iterations) const = 0;
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
  std::vector<Circumstance> circumstances() const override {
    const std::string title(Learner::kTitle);
    return {{"critic", Learner::kHasCritic ? "yes" : "no", title + " has no critic"},
            {"rollout", Learner::kCollectsEpisodes ? "episodes" : "steps", title + " collects whole episodes"},
            {"annealing", options_.anneals() ? "yes" : "no", "neither entropy_coef_end nor desired_kl_end is given"}};
  }
  std::string describe_update() const override {
    if constexpr (requires { Learner::describe_update(options_); }) return Learner::describe_update(options_);
    return fmt::format("{} epochs of {} mini-batches", options_.num_learning_epochs, options_.num_mini_batches);
  }
  std::string warning(int64_t done, int64_t max_iterations) const override {
    return warning_of_schedule(options_, Learner::kName, done, max_iterations);
  }
  PolicySpec policy(const TaskSpec& task, const PolicyOptions& options) const override {
    if constexpr (requires { Learner::check(options_, options); }) Learner::check(options_, options);
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

#include "apps/effects.hpp"

#include <algorithm>
#include <iterator>

#include "envs/make_env.hpp"

namespace drl {
namespace {

// The facts, besides the options' values, that decide whether options have an effect.
std::vector<Circumstance> circumstances(const Options& options, const Workplace& place) {
  const RunOptions& run = options.run;
  const bool named = !run.run_name.empty() || place.job;
  const bool new_weights = !run.resume && run.load_run.empty() && run.checkpoint.empty() && run.init_from.empty();
  const AlgorithmKind& algorithm = options.algorithm();
  const std::string& task = options.train.task;
  std::vector<Circumstance> all = algorithm.circumstances();
  all.insert(all.end(),
             {{"hardware", place.placement.gpu < 0 ? "cpu" : "gpu",
               std::string("this run computes on ") + (place.placement.gpu < 0 ? "the CPU" : "GPUs")},
              {"job", place.job ? "yes" : "no", "this is not a Slurm job"},
              {"name", named ? "chosen" : "new", "without --run_name, a run has a new name"},
              {"start", new_weights ? "scratch" : "checkpoint", "the weights come from a checkpoint"},
              {"actions", task_record(task).discrete ? "discrete" : "continuous", task + " has discrete actions"}});
  return all;
}

}  // namespace

std::vector<std::string> warnings_of_effects(const RunPlan& plan, const Workplace& place, int64_t done) {
  const Options& options = plan.options;
  std::vector<std::string> warnings = plan.table.without_effect(plan.chosen, circumstances(options, place));
  std::ranges::copy(options.algorithm().warnings(done, options.train.max_iterations), std::back_inserter(warnings));
  return warnings;
}

}  // namespace drl

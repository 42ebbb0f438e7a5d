// The plan of a sweep: what drl_sweep's options mean for the trainings, and the places where trials run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "sweep/space.hpp"

namespace drl {

struct SweepOptions {
  std::string task, space, name = "sweep", runs_dir, method = "random", objective = "mean_reward";
  int trials = 16, grid_points = 3, parallel = 0, ranks_per_trial = 1, eta = 4, min_iterations = 1, interval = 0;
  int64_t seed = 0;
  double perturb = 1.25;
  bool minimize = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("task", task, "task to learn");
    v("space", space, "file with the options to vary", as_path);
    v("name", name, "name of the sweep, whose directory it is in runs_dir");
    v("runs_dir", runs_dir, "directory of all runs; empty = $DRL_RUNS_DIR, or else runs", as_path);
    v("method", method,
      "random, grid (all combinations), asha (asynchronous successive halving: only the best trials go on), or pbt "
      "(population-based training: the worst quarter goes on from the best, with changed options)",
      one_of({"random", "grid", "asha", "pbt"}));
    v("trials", trials, "number of trials; a grid has its own", between(1, 100000));
    v("grid_points", grid_points, "values of each range in a grid", between(1, 1000));
    v("parallel", parallel, "trials at the same time; 0 = as many as the cores, or the job's GPUs, allow", at_least(0));
    v("ranks_per_trial", ranks_per_trial, "ranks of each trial, on one node", at_least(1));
    v("objective", objective, "column of metrics.csv whose last value decides");
    v("minimize", minimize, "smaller objectives are better");
    v("eta", eta, "asha: the best 1/eta of the trials go on, for eta times as many iterations", between(2, 100));
    v("min_iterations", min_iterations, "asha: fewest iterations of a trial", at_least(1));
    v("interval", interval, "pbt: iterations of a generation; 0 = a tenth of max_iterations", at_least(0));
    v("perturb", perturb, "pbt: factor by which options change", at_least(1));
    v("seed", seed, "seed of the choice of options; trials have the seed of their runs", at_least(0));
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

struct SweepPlan {
  Space space;
  std::string space_text, task;
  int max_iterations = 0;
  std::vector<Values> points;  // the options of each trial
};

// Throws UsageError, with the reason `why`, if the options `words` of drl_train contain one of these names.
void require_absent(const std::vector<std::string>& words, const std::vector<std::string>& names,
                    const std::string& why);

// `training`: options of drl_train. Throws UsageError if an option of the space is unknown, cannot have its values, or
// cannot change during a run where the method needs that.
SweepPlan make_sweep_plan(const SweepOptions& options, const std::vector<std::string>& training);

// A place for one trial at a time: a node of the job, or "" for this machine.
struct TrialPlace {
  std::string node;
  int steps = 1;  // places on this node
  bool busy = false;
};
// Returns the places for `trials` trials: on each node as many as its cores or GPUs allow. The first places are on
// different nodes.
std::vector<TrialPlace> trial_places(const SweepOptions& options, int trials);

}  // namespace drl

// The decisions of searches: which trial goes on. They depend only on what trials have reached.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sweep/space.hpp"

namespace drl {

// Objectives are "larger is better" here. A trial that failed has kWorst, and one without an objective, because no
// episode has ended, kUnknown.
inline constexpr double kWorst = -1e308, kUnknown = -1e307;

// --- Successive halving ---

// Returns the iterations of the rungs of asynchronous successive halving (Li et al. 2020, arXiv 1810.05934), in
// increasing order: most / eta^k, rounded up, for k = K, ..., 0. K is the largest number with at least `least`
// iterations on the first rung and at least eta^K trials, so that one of them reaches the last rung. Random search has
// one rung, `most`.
std::vector<int> asha_rungs(int most, int trials, int eta, int least);

struct LadderTrial {
  int started = 0;                      // the number of rungs that it has begun
  std::vector<double> objectives = {};  // at the end of each rung that it has finished
};
struct Promotion {
  int trial = 0, rung = 0;
  bool operator==(const Promotion&) const = default;
};
// Returns the trial to start on a rung: on the highest rung that is possible, the best of those that are among the best
// 1/eta of the rung below; else a new trial on the first rung; nullopt if there is none now. This is get_job() of the
// paper. Equal objectives are in the order of the trials.
std::optional<Promotion> next_promotion(const std::vector<LadderTrial>& trials, int rungs, int eta);

// --- Population-based training ---

// Returns for each member of a population (Jaderberg et al. 2017, arXiv 1711.09846) the one whose state it takes:
// itself, or, for the worst quarter, a random one of the best quarter. Members that failed take another's state, too,
// as long as one has not failed. It depends only on the arguments.
std::vector<int> exploit(const std::vector<double>& objectives, uint64_t seed, int generation);

// --- Searches ---

// A trial that is to train up to a number of iterations.
struct Job {
  int trial = 0;
  std::string run = {};     // the name of its run
  int iterations = 0;       // in total
  Values point = {};        // its options
  std::string parent = {};  // the run from whose checkpoint its run begins, "" for none
  int from = 0;             // the iteration of that checkpoint
};
// The last job of a trial that has ended, and its objective.
struct Result {
  Job job;
  double objective = kWorst;
};

class Search {
 public:
  virtual ~Search() = default;
  // Returns a job, which then counts as started; nullopt if there is none before another job ends.
  virtual std::optional<Job> next() = 0;
  virtual void end(const Job& job, double objective) = 0;
  // Returns the jobs of the current generation whose runs begin from a checkpoint of another run.
  virtual std::vector<Job> forks() const { return {}; }
  // Returns those of trials that have a result, the best first: after more iterations, then with a larger objective.
  std::vector<Result> results() const;

 protected:
  virtual std::vector<Result> all() const = 0;
};

// Reads run directories. `objective`: its value after these iterations, kWorst if the run failed, nullopt if it has
// fewer iterations. `target`: the iterations that the run was last started for, 0 if it was not.
struct Reached {
  std::function<std::optional<double>(const std::string& run, int iterations)> objective;
  std::function<int(const std::string& run)> target;
};

// Successive halving; random and grid search with one rung. Goes on from what the runs have reached.
std::unique_ptr<Search> make_ladder(std::vector<Values> points, std::vector<int> rungs, int eta,
                                    const Reached& reached);

struct PopulationRule {
  Space space;
  std::vector<int> ends;  // the iterations at the end of each generation
  double factor = 1.25;   // see perturbed()
  uint64_t seed = 0;
};
// Population-based training in synchronous generations. The jobs are the same each time, so that those that runs have
// done need not run again.
std::unique_ptr<Search> make_population(PopulationRule rule, std::vector<Values> points);

}  // namespace drl

// Decides when a run must stop so that its last checkpoint is written before the job's time limit.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>

#include "launch/allocation.hpp"
#include "launch/child.hpp"
#include "run/running_clock.hpp"

namespace drl {

// The longest times that the parts of a run have taken, in seconds.
struct LongestTimes {
  double iteration = 0;
  double save = 0;  // until the file is in place and the command of --after_checkpoint has ended

  // Returns true if the iteration that begins now need not be the last one: after it, the time left still holds another
  // iteration, a save and the margin. (A stop takes effect at the end of the iteration in which it is requested.) Pure.
  bool another_iteration_fits(double time_left, double margin) const {
    return time_left - iteration >= iteration + save + margin;
  }
};

// Returns the default of --time_margin for a job with this time limit; both in seconds. Pure.
inline double default_margin(double limit) { return std::min(0.1 * limit, 60.0); }

// Before it stops, a run asks squeue for the time left. slurmctld may allow only two queries per second and user, so
// jobs that end together ask at different times within this window, in seconds. Pure.
inline double query_window(double limit) { return std::min(0.1 * limit, 600.0); }
// Returns how many seconds before the stop this job asks. Pure.
double query_lead(const std::string& job, double limit);

// Watches the time left, on rank 0. The end of the job comes from the job's variables, else from squeue, which runs in
// the background. If squeue does not answer, logs a warning; then only Slurm's signal stops the run.
class Deadline {
 public:
  // `margin` in seconds, nullopt for default_margin(). The limit comes from the job's variables, else it is the first
  // known time left.
  Deadline(Allocation job, std::optional<double> margin);

  // Call before the first iteration. Throws UsageError if there is no time for an iteration, although at least half of
  // the job's limit was left when the program started. Every start of this job would then lack the time, and the job
  // would be requeued forever.
  void require_time();
  // Call at the beginning of each iteration. Returns true once this iteration must be the last one. Asks squeue again
  // some time before that, and waits a few seconds for the answer: limits may be extended, and a suspended job ends
  // later.
  bool reached();
  // Returns the time at the beginning of a save, to be passed to saved() when the save has ended. Thread-safe.
  double now() { return clock_.seconds(); }
  void saved(double begin);

  // Returns the time left in seconds: nullopt if unknown, infinite without a limit. Waits up to `patience` seconds for
  // squeue.
  std::optional<double> time_left(double patience = 0);
  // Returns why reached() returned true: "job 12 ends in 0:01:02 (...)".
  std::string reason() const;

 private:
  void query_squeue();
  bool read_answer(double patience);
  double margin() const { return margin_.value_or(default_margin(limit_)); }
  bool another_iteration_fits(double time_left) const;

  Allocation job_;
  std::optional<double> margin_;
  RunningClock clock_;
  std::optional<double> end_;  // steady_seconds() of the job's end
  double limit_;               // infinite while unknown
  std::optional<BackgroundCommand> squeue_;
  double query_time_;  // steady_seconds() of the latest query
  std::optional<double> iteration_start_;
  double left_ = 0;  // in the latest call of reached()

  mutable std::mutex mutex_;  // guards longest_
  LongestTimes longest_;
};

}  // namespace drl

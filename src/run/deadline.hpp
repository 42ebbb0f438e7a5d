// The job's time limit: when the run must stop by itself, so that its last checkpoint is written in time.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>

#include "launch/allocation.hpp"
#include "launch/child.hpp"
#include "run/running_clock.hpp"

namespace drl {

// How long the parts of a run have taken at most, in seconds.
struct LongestTimes {
  double iteration = 0;
  double save = 0;  // until the file is in place, and the command of --after_checkpoint done with it

  // All ranks have agreed to one more iteration when they learn of a stop. May it be an ordinary one, because after it
  // there is time for another, a save and the margin? Pure.
  bool another_fits(double time_left, double margin) const {
    return time_left - iteration >= iteration + save + margin;
  }
};

// What shall be left of a job's time when the run has saved, if nobody says otherwise; both in seconds. Pure.
inline double default_margin(double limit) { return std::min(0.1 * limit, 60.0); }

// Before a stop squeue is asked for the time left: jobs that end together do so at different times within this window,
// in seconds, as slurmctld may let a user ask it but twice a second. Pure.
inline double question_window(double limit) { return std::min(0.1 * limit, 600.0); }
// How long before the stop this job asks, in seconds. Pure.
double question_lead(const std::string& job, double limit);

// Rank 0's watch over the time left. The end comes from the job's variables, else from squeue, which is asked in the
// background; a Slurm that does not answer is a warning, and only the signal then stops the run.
class Deadline {
 public:
  // `margin` in seconds, nullopt for default_margin(). The limit comes from the job's variables too; else it is the
  // time left when that is first known.
  Deadline(Allocation job, std::optional<double> margin);

  // Before the first iteration. Throws UsageError if there is no time for one, and will not be in any start of this
  // job: most of its limit is left, and it would go round for ever.
  void require_time();
  // Call as each iteration begins. True once it must be the last one. Some time before it says so it asks squeue once
  // more, and then waits a few seconds at most for the answer: limits are extended, and a suspended job ends later.
  bool reached();
  // When a save begins; the result goes to saved() when it is done. From any thread.
  double now() { return clock_.seconds(); }
  void saved(double begin);

  // Seconds; nullopt while (or if) it is not known, infinite without a limit. Waits up to `patience` seconds for
  // squeue.
  std::optional<double> time_left(double patience = 0);
  // "the job ends in 0:01:02 (...)": why reached() said so.
  std::string reason() const;

 private:
  void ask();
  bool take_answer(double patience);
  double margin() const { return margin_.value_or(default_margin(limit_)); }
  bool another_fits(double time_left) const;

  Allocation job_;
  std::optional<double> margin_;
  RunningClock clock_;
  std::optional<double> end_;  // steady_seconds() of the job's end
  double limit_;               // infinite while it is not known
  std::optional<BackgroundCommand> squeue_;
  double asked_;  // steady_seconds() then, if ever
  std::optional<double> iteration_began_;
  double left_ = 0;  // when reached() last looked

  mutable std::mutex mutex_;  // of what saved() touches
  LongestTimes longest_;
};

}  // namespace drl

// Shows a run's progress in squeue, as the job's comment.
#pragma once

#include <optional>

#include "launch/allocation.hpp"
#include "launch/child.hpp"
#include "report/metrics.hpp"

namespace drl {

class ProgressComment {
 public:
  // Sets the comment at most every `interval` seconds.
  ProgressComment(Allocation job, std::string task, double interval = 60);

  // Returns at once. If Slurm refuses or takes longer than the interval, warns once and stops updating.
  void update(const IterationMetrics& metrics);

 private:
  void take_result();

  Allocation job_;
  std::string task_;
  double interval_;
  std::optional<double> shown_;  // steady_seconds() of the latest update
  std::optional<BackgroundCommand> scontrol_;
  bool failed_ = false;
};

// Returns "Cartpole 120/500, reward 4.7". Pure.
std::string progress_comment(const std::string& task, const IterationMetrics& metrics);

}  // namespace drl

#include "run/progress_comment.hpp"

#include <cmath>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "report/format.hpp"

namespace drl {

std::string progress_comment(const std::string& task, const IterationMetrics& metrics) {
  const std::string progress = fmt::format("{} {}/{}", task, metrics.iteration, metrics.max_iterations);
  const double reward = metrics.value("mean_reward");
  return std::isnan(reward) ? progress : progress + ", reward " + human_number(reward);
}

ProgressComment::ProgressComment(Allocation job, std::string task, double interval)
    : job_(std::move(job)), task_(std::move(task)), interval_(interval) {}

void ProgressComment::update(const IterationMetrics& metrics) {
  if (failed_) return;
  take_result();
  if (failed_ || (shown_ && steady_seconds() - *shown_ < interval_)) return;
  shown_ = steady_seconds();
  scontrol_.emplace(comment_command(job_, progress_comment(task_, metrics)));
}

void ProgressComment::take_result() {
  if (!scontrol_) return;
  const std::optional<int> code = scontrol_->exit_code();
  if (!code && steady_seconds() - *shown_ < interval_) return;
  failed_ = code != 0;
  if (failed_)
    log::warn(
        "the progress is no longer shown in squeue ({}): --squeue_comment needs a Slurm that lets jobs change their "
        "comment",
        code ? "scontrol printed: " + scontrol_->last_line() : std::string("scontrol does not answer"));
  scontrol_.reset();
}

}  // namespace drl

#include "run/deadline.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr double kQueryPatience = 60;      // seconds that squeue may take while the training continues
constexpr double kFinalQueryPatience = 5;  // seconds that squeue may take before a stop, while all ranks wait
constexpr double kNever = -INFINITY;
const double kProgramStart = steady_seconds();

}  // namespace

double query_lead(const std::string& job, double limit) {
  const double share = static_cast<double>(std::hash<std::string>{}(job) % 1000) / 1000;
  return share * query_window(limit);
}

Deadline::Deadline(Allocation job, std::optional<double> margin)
    : job_(std::move(job)), margin_(margin), limit_(INFINITY), query_time_(kNever) {
  if (has_outlived_its_limit(job_)) job_.end_time.reset();  // the limit has been extended
  if (!job_.end_time) {
    query_squeue();
    return;
  }
  const double left = static_cast<double>(*job_.end_time) - seconds_since_1970();
  end_ = steady_seconds() + left;
  limit_ = job_.start_time ? static_cast<double>(*job_.end_time - *job_.start_time) : left;
}

void Deadline::query_squeue() {
  query_time_ = steady_seconds();
  squeue_.emplace(time_left_command(job_));
}

// Returns true if no query is open. An answer without a time leaves the end unchanged.
bool Deadline::read_answer(double patience) {
  if (!squeue_) return true;
  const std::optional<int> code = squeue_->wait(patience);
  if (!code && steady_seconds() - query_time_ < kQueryPatience) return false;
  const std::optional<double> left = code == 0 ? parse_time_left(squeue_->output()) : std::nullopt;
  if (left) {
    if (!end_) limit_ = *left;
    end_ = query_time_ + *left;
  } else if (!end_) {
    log::warn("the end of job {} is unknown ({}): the run stops in time only if Slurm sends a signal (sbatch --signal)",
              job_.job, code ? "squeue printed: " + squeue_->last_line() : std::string("squeue does not answer"));
  }
  squeue_.reset();
  return true;
}

std::optional<double> Deadline::time_left(double patience) {
  read_answer(patience);
  return end_ ? std::optional(std::max(0.0, *end_ - steady_seconds())) : std::nullopt;
}

bool Deadline::another_iteration_fits(double time_left) const {
  const std::lock_guard lock(mutex_);
  return longest_.another_iteration_fits(time_left, margin());
}

void Deadline::require_time() {
  if (!job_.start_time || !job_.end_time) return;  // the limit is not known
  left_ = *time_left();
  const double left_at_start = left_ + steady_seconds() - kProgramStart;
  if (another_iteration_fits(left_) || left_at_start < limit_ / 2) return;
  throw UsageError(fmt::format(
      "job {} has no time for an iteration (its limit is {}, {} are left now, and {} must remain after the last "
      "save): give it more time with sbatch --time, or a smaller --time_margin",
      job_.job, human_duration(limit_), human_duration(left_), human_time(margin())));
}

bool Deadline::reached() {
  const double now = clock_.seconds();
  {
    const std::lock_guard lock(mutex_);
    if (iteration_start_) longest_.iteration = std::max(longest_.iteration, now - *iteration_start_);
  }
  iteration_start_ = now;
  left_ = time_left().value_or(INFINITY);
  if (another_iteration_fits(left_ - query_lead(job_.job, limit_))) return false;
  if (steady_seconds() - query_time_ > query_window(limit_) + kQueryPatience)
    query_squeue();  // else the latest answer is recent enough
  if (another_iteration_fits(left_)) return false;
  read_answer(kFinalQueryPatience);
  squeue_.reset();
  left_ = time_left().value_or(INFINITY);
  return !another_iteration_fits(left_);
}

void Deadline::saved(double begin) {
  const double seconds = now() - begin;
  const std::lock_guard lock(mutex_);
  longest_.save = std::max(longest_.save, seconds);
}

std::string Deadline::reason() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("job {} ends in {} (the longest iteration took {}, the longest save {}; --time_margin {})",
                     job_.job, human_duration(left_), human_time(longest_.iteration), human_time(longest_.save),
                     human_time(margin()));
}

}  // namespace drl

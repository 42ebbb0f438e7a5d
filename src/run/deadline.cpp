#include "run/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/log.hpp"
#include "base/text.hpp"
#include "report/console.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr double kFirstAnswer = 60;  // seconds for squeue while training goes on
constexpr double kLastAnswer = 5;    // before a stop, when all wait for it

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Deadline::Deadline(Allocation job, double margin) : job_(std::move(job)), margin_(margin) {
  if (job_.end_time)
    end_ = steady_seconds() + static_cast<double>(*job_.end_time) - seconds_since_1970();
  else
    ask();
}

void Deadline::ask() {
  asked_ = steady_seconds();
  squeue_.emplace(time_left_command(job_));
}

// True if there is no question left open. An answer that tells no time leaves the end as it was.
bool Deadline::take_answer(double patience) {
  if (!squeue_) return true;
  const std::optional<int> code = squeue_->wait(patience);
  if (!code && steady_seconds() - asked_ < kFirstAnswer) return false;
  const std::optional<double> left = code == 0 ? parse_time_left(squeue_->output()) : std::nullopt;
  if (left)
    end_ = asked_ + *left;
  else if (!end_)
    log::warn(
        "the end of job {} is not known ({}): only the signal that Slurm sends before it (--signal) will stop the run "
        "in time",
        job_.job, code ? "squeue said: " + squeue_->last_words() : std::string("squeue does not answer"));
  squeue_.reset();
  return true;
}

std::optional<double> Deadline::time_left(double patience) {
  take_answer(patience);
  return end_ ? std::optional(std::max(0.0, *end_ - steady_seconds())) : std::nullopt;
}

bool Deadline::reached() {
  const double now = clock_.seconds();
  const auto time_is_up = [this] {
    left_ = time_left().value_or(INFINITY);
    const std::lock_guard lock(mutex_);
    return !longest_.another_fits(left_, margin_);
  };
  {
    const std::lock_guard lock(mutex_);
    if (iteration_began_) longest_.iteration = std::max(longest_.iteration, now - *iteration_began_);
  }
  iteration_began_ = now;
  if (!time_is_up()) return false;
  ask();
  take_answer(kLastAnswer);
  squeue_.reset();
  return time_is_up();
}

void Deadline::saved(double begin) {
  const double seconds = now() - begin;
  const std::lock_guard lock(mutex_);
  longest_.save = std::max(longest_.save, seconds);
}

std::string Deadline::reason() const {
  const std::lock_guard lock(mutex_);
  return "job " + job_.job + " ends in " + human_duration(left_) + " (the longest iteration took " +
         human_time(longest_.iteration) + ", the longest save " + human_time(longest_.save) + "; --time_margin " +
         human_time(margin_) + ")";
}

}  // namespace drl

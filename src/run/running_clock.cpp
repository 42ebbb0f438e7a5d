#include "run/running_clock.hpp"

#include <chrono>

namespace drl {
namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr double kStandstill = 3;  // seconds without a tick; a busy machine delays one by less

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

RunningClock::RunningClock()
    : ticker_([this] {
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, kTick, [this] { return end_; })) tick();
      }) {}

RunningClock::~RunningClock() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  ticker_.join();
}

double RunningClock::seconds() {
  const std::lock_guard lock(mutex_);
  return tick();
}

// Whoever comes first after a standstill counts it.
double RunningClock::tick() {
  const Clock::time_point now = Clock::now();
  const double gap = seconds_between(last_tick_, now);
  if (gap > kStandstill) stood_still_ += gap;
  last_tick_ = now;
  return seconds_between(start_, now) - stood_still_;
}

}  // namespace drl

#include "run/running_clock.hpp"

#include <chrono>

#include "base/limits.hpp"

namespace drl {
namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::seconds kSuspended{3};  // without a tick; even a busy machine delays a tick by less

}  // namespace

RunningClock::RunningClock()
    : ticker_(starting_thread([this] {
        return std::thread([this] {
          std::unique_lock lock(mutex_);
          while (!ended_.wait_for(lock, kTick, [this] { return end_; })) tick();
        });
      })) {}

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

// Adds the gap since the last tick to the suspended time if it is long.
double RunningClock::tick() {
  const Clock::time_point now = Clock::now();
  const Clock::duration gap = now - last_tick_;
  if (gap > kSuspended) suspended_ += gap;
  last_tick_ = now;
  return std::chrono::duration<double>(now - start_ - suspended_).count();
}

}  // namespace drl

#include "run/running_clock.hpp"

#include "base/limits.hpp"
#include "base/threads.hpp"

namespace drl {
namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::seconds kSuspended{3};  // without a tick; even a busy machine delays a tick by less

}  // namespace

RunningClock::RunningClock()
    : ticker_(starting_thread([this] {
        return std::jthread([this](const std::stop_token& over) {
          while (sleep_unless(over, kTick)) seconds();
        });
      })) {}

double RunningClock::seconds() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  const Clock::duration gap = now - last_tick_;
  if (gap > kSuspended) suspended_ += gap;
  last_tick_ = now;
  return std::chrono::duration<double>(now - start_ - suspended_).count();
}

}  // namespace drl

// Waiting with a limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/clock.hpp"

namespace drl {

// Counts the seconds in which this process could run, by its own ticks: a suspended job (scontrol suspend, SIGSTOP, a
// frozen cgroup) does not use up the time for which it waits.
class Patience {
 public:
  explicit Patience(Clock::time_point start = Clock::now()) : last_tick_(start) {}

  // Counted since the start. To be called in every round of a loop: longer than this between two calls is a standstill.
  static constexpr std::chrono::milliseconds kTick{250};
  double seconds(Clock::time_point now = Clock::now()) {
    counted_ += std::min<Clock::duration>(now - last_tick_, kTick);
    last_tick_ = now;
    return std::chrono::duration<double>(counted_).count();
  }

 private:
  Clock::time_point last_tick_;
  Clock::duration counted_{};
};

// Between two looks at what a loop waits for: short waits cost no sleep, long ones no core.
inline void nap(int64_t round) {
  if (round < 1000) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// Looks at `done` until it is true; false after `seconds` of `patience`.
template <class Done>
bool wait_until(const Done& done, Patience& patience, double seconds) {
  for (int64_t round = 0; !done(); ++round) {
    if (patience.seconds() >= seconds) return false;
    nap(round);
  }
  return true;
}

// Runs `work` in a thread of its own, which is left behind if it lasts longer: file systems may not answer at all.
// False in that case.
inline bool done_within(double seconds, std::function<void()> work) {
  auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  std::future<void> result = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  return result.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

}  // namespace drl

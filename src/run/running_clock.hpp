// Seconds in which this process could run. A suspended job (scontrol suspend, SIGSTOP, a frozen cgroup) stands still
// for hours: an iteration that lasted over them is not a long one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace drl {

// Tells a standstill by its own ticks: if none came for seconds, nobody was allowed to tick.
class RunningClock {
 public:
  RunningClock();
  ~RunningClock();
  RunningClock(const RunningClock&) = delete;
  RunningClock& operator=(const RunningClock&) = delete;

  // Since the clock was made, without the times it stood still. From any thread.
  double seconds();

 private:
  using Clock = std::chrono::steady_clock;
  double tick();  // under the mutex

  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  Clock::time_point start_ = Clock::now(), last_tick_ = start_;
  Clock::duration stood_still_{};
  std::thread ticker_;
};

}  // namespace drl

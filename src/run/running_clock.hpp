// Measures the time in which this process could run. A job may be suspended for hours (scontrol suspend, SIGSTOP, a
// frozen cgroup), which must not count as a long iteration.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace drl {

// A thread ticks regularly. If no tick came for several seconds, the process was suspended.
class RunningClock {
 public:
  RunningClock();
  ~RunningClock();
  RunningClock(const RunningClock&) = delete;
  RunningClock& operator=(const RunningClock&) = delete;

  // Returns the seconds since construction, without suspended time. Thread-safe.
  double seconds();

 private:
  using Clock = std::chrono::steady_clock;
  double tick();  // the caller holds the mutex

  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  Clock::time_point start_ = Clock::now(), last_tick_ = start_;
  Clock::duration suspended_{};
  std::thread ticker_;
};

}  // namespace drl

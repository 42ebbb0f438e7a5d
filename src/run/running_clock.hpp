// Measures the time in which this process could run. A job may be suspended for hours (scontrol suspend, SIGSTOP, a
// frozen cgroup), which must not count as a long iteration.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.hpp"

namespace drl {

// A thread ticks regularly. If no tick came for several seconds, the process was suspended.
class RunningClock {
 public:
  RunningClock();
  // Returns the seconds since construction, without suspended time. Thread-safe. Each call is a tick, too.
  double seconds();

 private:
  std::mutex mutex_;
  Clock::time_point start_ = Clock::now(), last_tick_ = start_;
  Clock::duration suspended_{};
  std::jthread ticker_;
};

}  // namespace drl

// Waiting with a limit, by polling.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace drl {

// Counts the seconds in which this process could run, by its own ticks: a suspended job (scontrol suspend, SIGSTOP, a
// frozen cgroup) does not use up the time for which it waits.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
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

}  // namespace drl

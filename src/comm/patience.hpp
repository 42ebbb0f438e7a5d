// Waiting with a time limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/limits.hpp"

namespace drl {

// Counts the seconds in which this process could run. While the job is suspended (scontrol suspend, SIGSTOP, a frozen
// cgroup), the time limit of a wait does not run down.
class Patience {
 public:
  explicit Patience(Clock::time_point start = Clock::now()) : last_tick_(start) {}

  // Returns the seconds counted since the start. Call it in every round of a loop: a gap longer than kTick between two
  // calls counts as a suspension, of which only kTick is added.
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

// Pauses between two checks of a waiting loop: it yields in the first rounds and sleeps in later ones.
inline void nap(int64_t round) {
  if (round < 1000) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// Polls `done` until it is true. Returns false when `patience` has counted `seconds`.
template <class Done>
bool wait_until(const Done& done, Patience& patience, double seconds) {
  for (int64_t round = 0; !done(); ++round) {
    if (patience.seconds() >= seconds) return false;
    nap(round);
  }
  return true;
}

// Runs `work` in a separate thread. Returns false, and abandons the thread, if it takes longer than `seconds`: a file
// system may not respond at all.
inline bool done_within(double seconds, std::function<void()> work) {
  auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  std::future<void> result = task->get_future();
  starting_thread([&] { return std::thread([task] { (*task)(); }); }).detach();
  return result.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

}  // namespace drl

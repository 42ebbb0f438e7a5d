// Ends the program when a step of it does not end by itself: no blocking call of MPI has a deadline.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace drl {

// Its thread calls no MPI. Starts before MPI does, and outlives it.
class Watchdog {
 public:
  // What is to be done `seconds` after expect() if that step still lasts.
  struct Act {
    double seconds;
    std::function<void()> act;
  };

  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // A new step begins. After the last of `acts` the process ends with exit code 1.
  void expect(std::vector<Act> acts);
  // Nothing is awaited for now.
  void rest() { expect({}); }

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Act> acts_;
  Clock::time_point begin_;
  int step_ = 0;  // counts expect()
  bool end_ = false;
  std::thread thread_;
};

// Runs `work` in a thread of its own, which is left behind if it lasts longer: file systems may not answer at all.
// False in that case.
bool done_within(double seconds, std::function<void()> work);

}  // namespace drl

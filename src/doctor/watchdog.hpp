// Ends the program when a step of it does not end by itself: no blocking call of MPI has a deadline.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace drl {

// Its thread calls no MPI.
class Watchdog {
 public:
  // What is to be done `seconds` after expect() if that step still lasts.
  struct Act {
    double seconds;
    std::function<void()> act;
  };

  // A new step begins. After the last of `acts` the process ends with exit code 1. Waits for an act of the step before
  // that is being done.
  void expect(std::vector<Act> acts);
  // Nothing is awaited for now.
  void rest() { thread_ = {}; }

 private:
  std::jthread thread_;
};

}  // namespace drl

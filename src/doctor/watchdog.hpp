// Ends the program when one of its steps hangs. MPI's blocking calls have no deadlines, so another thread must do it.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace drl {

// Runs actions at deadlines in its own thread, which makes no MPI calls.
class Watchdog {
 public:
  // An action to run if the step has lasted `seconds`.
  struct Action {
    double seconds;
    std::function<void()> action;
  };

  // Cancels the deadlines of the previous step, after waiting for an action that is running, and starts those of a new
  // step. After the last action the process ends with exit code 1.
  void arm(std::vector<Action> actions);
  // Cancels the deadlines.
  void disarm() { thread_ = {}; }

 private:
  std::jthread thread_;
};

}  // namespace drl

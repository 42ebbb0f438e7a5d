#include "doctor/watchdog.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/threads.hpp"
#include "comm/patience.hpp"

namespace drl {

constexpr std::chrono::duration<double> kTick = Patience::kTick;

void Watchdog::arm(std::vector<Action> actions) {
  disarm();
  const auto watch = [actions = std::move(actions)](const std::stop_token& over) {
    Patience patience;  // does not count the time in which the process was stopped
    for (const auto& [seconds, action] : actions) {
      for (double left; (left = seconds - patience.seconds()) > 0;)
        if (!sleep_unless(over, std::min(kTick, std::chrono::duration<double>(left)))) return;
      if (over.stop_requested()) return;
      action();
    }
    _exit(kFailure);
  };
  thread_ = starting_thread([&] { return std::jthread(watch); });
}

}  // namespace drl

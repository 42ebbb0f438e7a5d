#include "doctor/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "comm/patience.hpp"

namespace drl {

void Watchdog::arm(std::vector<Action> actions) {
  disarm();
  const auto watch = [actions = std::move(actions)](const std::stop_token& over) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any nothing;  // never notified; the wait ends by stop request or time
    Patience patience;                    // does not count the time in which the process was stopped
    for (const auto& [seconds, action] : actions) {
      for (double left; (left = seconds - patience.seconds()) > 0 && !over.stop_requested();)
        nothing.wait_for(lock, over,
                         std::min<std::chrono::duration<double>>(std::chrono::duration<double>(left), Patience::kTick),
                         [] { return false; });
      if (over.stop_requested()) return;
      action();
    }
    _exit(kFailure);
  };
  thread_ = starting_thread([&] { return std::jthread(watch); });
}

}  // namespace drl

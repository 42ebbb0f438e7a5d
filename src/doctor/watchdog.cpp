#include "doctor/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/check.hpp"
#include "comm/patience.hpp"

namespace drl {

void Watchdog::expect(std::vector<Act> acts) {
  rest();
  thread_ = std::jthread([acts = std::move(acts)](const std::stop_token& over) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any nothing;  // but the end of the step is waited for
    Patience patience;                    // a process that was stopped gets its time after it
    for (const auto& [seconds, act] : acts) {
      for (double left; (left = seconds - patience.seconds()) > 0 && !over.stop_requested();)
        nothing.wait_for(lock, over,
                         std::min<std::chrono::duration<double>>(std::chrono::duration<double>(left), Patience::kTick),
                         [] { return false; });
      if (over.stop_requested()) return;
      act();
    }
    _exit(kFailure);
  });
}

}  // namespace drl

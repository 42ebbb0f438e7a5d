// Threads that run beside the training use these functions to block signals and to sleep.
#pragma once

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace drl {

// While it exists, this thread receives no signals, nor do threads that it starts meanwhile, for as long as they run.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// Sleeps for `seconds`. Returns false, at once, when the thread should end.
inline bool sleep_unless(const std::stop_token& over, std::chrono::duration<double> seconds) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any nothing;  // never notified; the wait ends by stop request or time
  nothing.wait_for(lock, over, seconds, [] { return false; });
  return !over.stop_requested();
}

}  // namespace drl

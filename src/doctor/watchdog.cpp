#include "doctor/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>

#include "base/check.hpp"
#include "cluster/patience.hpp"

namespace drl {
namespace {

std::chrono::steady_clock::duration duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Watchdog::Watchdog() : thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::expect(std::vector<Act> acts) {
  {
    const std::lock_guard lock(mutex_);
    acts_ = std::move(acts);
    begin_ = Clock::now();
    step_ += 1;
  }
  changed_.notify_all();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!end_) {
    const int step = step_;
    const auto over = [&] { return end_ || step_ != step; };
    const std::vector<Act> acts = acts_;
    Patience patience(begin_);  // a process that was stopped gets its time after it
    for (const Act& act : acts) {
      for (double left; !over() && (left = act.seconds - patience.seconds()) > 0;)
        changed_.wait_for(lock, std::min<Clock::duration>(Patience::kTick, duration(left)), over);
      if (over()) break;
      lock.unlock();
      act.act();
      lock.lock();
    }
    if (!acts.empty() && !over()) _exit(kFailure);
    changed_.wait(lock, over);
  }
}

bool done_within(double seconds, std::function<void()> work) {
  auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  std::future<void> result = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  return result.wait_for(duration(seconds)) == std::future_status::ready;
}

}  // namespace drl

#include "doctor/watchdog.hpp"

#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>

#include "base/check.hpp"

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
    for (const Act& act : acts) {
      if (changed_.wait_until(lock, begin_ + duration(act.seconds), over)) break;
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

#include "base/thread_team.hpp"

#include <sched.h>

#include <utility>

#include "base/limits.hpp"
#include "base/threads.hpp"

namespace drl {
namespace {

// A CPU that the process may not use is ignored: the thread then runs anywhere.
void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

ThreadTeam::ThreadTeam(int threads, const std::vector<int>& cpus) {
  const BlockedSignals blocked;  // only the main thread handles signals
  try {
    for (int k = 1; k < threads; ++k)
      others_.push_back(starting_thread([&] {
        return std::thread([this, cpu = k < static_cast<int>(cpus.size()) ? cpus[static_cast<size_t>(k)] : -1] {
          if (cpu >= 0) stay_on(cpu);
          serve();
        });
      }));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& other : others_) other.join();
}

void ThreadTeam::run(int64_t count, Call call, const void* work) {
  {
    const std::lock_guard lock(mutex_);
    call_ = call, work_ = work, count_ = count;
    next_ = 0, busy_ = others_.size(), ++round_;
  }
  if (!others_.empty()) begun_.notify_all();
  take_part();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadTeam::serve() {
  std::unique_lock lock(mutex_);
  for (int64_t seen = 0;;) {
    begun_.wait(lock, [&] { return stopping_ || round_ != seen; });
    if (stopping_) return;
    seen = round_;
    lock.unlock();
    take_part();
    lock.lock();
    if (--busy_ == 0) ended_.notify_one();
  }
}

void ThreadTeam::take_part() {
  for (int64_t k = next_++; k < count_; k = next_++) {
    try {
      call_(work_, k);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_ || k < failed_at_) failure_ = std::current_exception(), failed_at_ = k;
      next_ = count_;
    }
  }
}

}  // namespace drl

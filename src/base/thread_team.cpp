#include "base/thread_team.hpp"

#include <utility>

#include "base/limits.hpp"
#include "base/threads.hpp"

namespace drl {

ThreadTeam::ThreadTeam(int threads) {
  const BlockedSignals blocked;  // only the main thread handles signals
  try {
    for (int k = 1; k < threads; ++k)
      others_.push_back(starting_thread([&] { return std::thread([this] { serve(); }); }));
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

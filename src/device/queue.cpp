#include "device/queue.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "device/array.hpp"

namespace drl {
namespace {

class HostEvent final : public Queue::Event {
 public:
  void record() override { time_ = Clock::now(); }
  bool passed() const override { return true; }
  double seconds_since(const Event& start) const override {
    return std::chrono::duration<double>(time_ - static_cast<const HostEvent&>(start).time_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point time_;
};

class HostQueue final : public Queue {
 public:
  explicit HostQueue(Isa isa) : Queue(false, isa) {}
  void* allocate(size_t bytes) override { return allocate_lazily(bytes); }
  void release(void* memory, size_t bytes) noexcept override { release_lazy(memory, bytes); }
  void* allocate_host(size_t bytes) override { return allocate(bytes); }
  void release_host(void* memory, size_t bytes) noexcept override { release(memory, bytes); }
  void copy_bytes(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void clear_bytes(void* memory, size_t bytes) override { std::memset(memory, 0, bytes); }
  bool done() override { return true; }
  std::unique_ptr<RecordedWork> record(const std::function<void()>&) override { return nullptr; }
  void launch(RecordedWork&) override {}
  std::unique_ptr<Event> make_event() override { return std::make_unique<HostEvent>(); }
};

}  // namespace

void Queue::synchronize() {
  while (!done()) std::this_thread::yield();
}

std::unique_ptr<Queue> make_host_queue(Isa isa) { return std::make_unique<HostQueue>(isa); }

}  // namespace drl

#include "device/gpu_queue.hpp"

#include <cstring>

#include "device/launch_watch.hpp"
#include "gpu/device.hpp"

namespace drl {
namespace {

class Stream {
 public:
  Stream() { DRL_GPU(gpuStreamCreateWithFlags(&stream_, gpuStreamNonBlocking)); }
  ~Stream() { (void)gpuStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  gpuStream_t get() const { return stream_; }

 private:
  gpuStream_t stream_{};
};

// Throws Error for a failure, after clearing the last error, which the next library to ask for one would report.
void check_and_clear(gpuError_t status, const char* call) {
  if (status != gpuSuccess) (void)gpuGetLastError();
  gpu::check(status, call);
}

class GpuRecordedWork final : public RecordedWork {
 public:
  explicit GpuRecordedWork(gpuGraph_t graph) {
    const gpuError_t status = gpuGraphInstantiateWithFlags(&exec_, graph, 0);
    (void)gpuGraphDestroy(graph);
    check_and_clear(status, "gpuGraphInstantiateWithFlags");
  }
  ~GpuRecordedWork() override { (void)gpuGraphExecDestroy(exec_); }
  gpuGraphExec_t get() const { return exec_; }

 private:
  gpuGraphExec_t exec_{};
};

class GpuEvent final : public Queue::Event {
 public:
  explicit GpuEvent(const Stream& stream) : stream_(stream) { DRL_GPU(gpuEventCreate(&event_)); }
  ~GpuEvent() override { (void)gpuEventDestroy(event_); }
  void record() override { DRL_GPU(gpuEventRecord(event_, stream_.get())); }
  bool passed() const override { return gpu::has_ended(gpuEventQuery(event_), "gpuEventQuery"); }
  double seconds_since(const Event& start) const override {
    float milliseconds = 0;
    DRL_GPU(gpuEventElapsedTime(&milliseconds, static_cast<const GpuEvent&>(start).event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  const Stream& stream_;
  gpuEvent_t event_{};
};

class GpuQueue final : public Queue {
 public:
  explicit GpuQueue(Isa isa) : Queue(true, isa) {}
  void* native() const override { return stream_.get(); }

  void* allocate(size_t bytes) override {
    void* memory = gpu::allocate(bytes);
    clear_bytes(memory, bytes);
    return memory;
  }
  void release(void* memory, size_t) noexcept override { (void)gpuFree(memory); }
  void* allocate_host(size_t bytes) override { return std::memset(gpu::allocate_host(bytes), 0, bytes); }
  void release_host(void* memory, size_t) noexcept override { (void)gpuFreeHost(memory); }

  void copy_bytes(void* to, const void* from, size_t bytes) override {
    announce(CopyBytes{bytes}, 1, [&] { DRL_GPU(gpuMemcpyAsync(to, from, bytes, gpuMemcpyDefault, stream_.get())); });
  }
  void clear_bytes(void* memory, size_t bytes) override {
    announce(ClearBytes{bytes}, 1, [&] { DRL_GPU(gpuMemsetAsync(memory, 0, bytes, stream_.get())); });
  }
  bool done() override { return gpu::has_ended(gpuStreamQuery(stream_.get()), "gpuStreamQuery"); }

  std::unique_ptr<RecordedWork> record(const std::function<void()>& enqueue) override {
    DRL_GPU(gpuStreamBeginCapture(stream_.get(), gpuStreamCaptureModeThreadLocal));
    gpuGraph_t graph{};
    try {
      enqueue();
    } catch (...) {
      (void)gpuStreamEndCapture(stream_.get(), &graph);
      if (graph) (void)gpuGraphDestroy(graph);
      (void)gpuGetLastError();
      throw;
    }
    check_and_clear(gpuStreamEndCapture(stream_.get(), &graph), "gpuStreamEndCapture");
    return std::make_unique<GpuRecordedWork>(graph);
  }
  void launch(RecordedWork& recording) override {
    DRL_GPU(gpuGraphLaunch(static_cast<GpuRecordedWork&>(recording).get(), stream_.get()));
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<GpuEvent>(stream_); }
  void begin_range(const char* name) override { gpuRangePush(name); }
  void end_range() override { gpuRangePop(); }

 private:
  Stream stream_;
};

}  // namespace

std::unique_ptr<Queue> make_gpu_queue(Isa isa) { return std::make_unique<GpuQueue>(isa); }

}  // namespace drl

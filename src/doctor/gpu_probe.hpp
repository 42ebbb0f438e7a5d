// What the doctor does with a GPU. Only builds for GPUs (and tests, on a stand-in) have it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/communicator.hpp"
#include "doctor/all_reduce.hpp"
#include "doctor/gpu_findings.hpp"

namespace drl {

std::string cuda_runtime_version();  // "13.0"

// Runs a small kernel on a device, and reads back what it computed. Returns why that did not work within `seconds`, in
// the runtime's words; "" if it did. All else of this process is done on that device from now on.
std::string try_kernel(int device, double seconds);

// Seconds for a piece of arithmetic that keeps every multiprocessor busy, divided by its length: the fastest of some
// tries, 5 ms each. The device is one on which try_kernel has worked; `meanwhile` is called once while it computes.
// Throws Error.
double fastest_kernel(int device, double seconds, const std::function<void()>& meanwhile);

// The other devices that this process sees, and those that `device` does not reach. Throws Error.
PeerAccess peer_access(int device);

// All-reduces in the memory of this process's device.
class GpuAllReduce {
 public:
  explicit GpuAllReduce(Communicator& nccl);
  ~GpuAllReduce();
  // Throw Error (or ReportedError) if one does not end within the communicator's limit.
  bool is_right(int64_t bytes);
  double repeat(int64_t bytes, int times);  // s on the device

 private:
  struct OnDevice;
  Communicator& nccl_;
  std::unique_ptr<OnDevice> device_;
};

}  // namespace drl

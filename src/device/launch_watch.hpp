// Lets a benchmark see each piece of work that is enqueued on a GPU (bench/gpu_kernels).
#pragma once

#include <cstddef>
#include <cstdint>
#include <typeinfo>

namespace drl {

// A kernel, described by its function object, or other work, described by one of the structs below, by GpuProduct
// (nets/gpu/gpu_nets.hpp) or by TaskLaunch (envs/task_envs.hpp).
struct Launch {
  const std::type_info& type;
  const void* what;   // an object of this type
  int64_t count = 1;  // indices of a function object
};
struct CopyBytes {
  size_t bytes;
};
struct ClearBytes {
  size_t bytes;
};

class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
  virtual void begins(const Launch& launch) = 0;  // called before the launch is enqueued
  virtual void ends() = 0;                        // called after that, unless it failed
};
inline LaunchWatch* launch_watch = nullptr;  // only benchmarks set it

// Calls `enqueue`, which enqueues a launch, and announces the launch to the watch, if there is one.
template <class T, class Enqueue>
void announce(const T& what, int64_t count, const Enqueue& enqueue) {
  if (launch_watch) launch_watch->begins({typeid(T), &what, count});
  enqueue();
  if (launch_watch) launch_watch->ends();
}

}  // namespace drl

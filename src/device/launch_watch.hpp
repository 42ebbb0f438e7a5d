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
  virtual void ends() = 0;                        // called after that
};
inline LaunchWatch* launch_watch = nullptr;  // only benchmarks set it

// Announces a launch to the watch, if there is one. It exists while the launch is enqueued.
class AnnouncedLaunch {
 public:
  template <class T>
  explicit AnnouncedLaunch(const T& what, int64_t count = 1) {
    if (launch_watch) launch_watch->begins({typeid(T), &what, count});
  }
  ~AnnouncedLaunch() {
    if (launch_watch) launch_watch->ends();
  }
  AnnouncedLaunch(const AnnouncedLaunch&) = delete;
  AnnouncedLaunch& operator=(const AnnouncedLaunch&) = delete;
};

}  // namespace drl

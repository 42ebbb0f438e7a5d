#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace drl {

// A team of threads for parallel loops; the caller is one of them. A team of one starts no thread and allocates
// nothing. If CPUs are given, thread k stays on cpus[k]; the caller, which is thread 0, stays where it is.
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads, const std::vector<int>& cpus = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }
  // Calls work(k) once for each k in [0, count), on any free thread, and waits for all calls. After an exception no
  // further k is started; the exception of the smallest k that failed is rethrown.
  template <class Work>
  void run(int64_t count, const Work& work) {
    run(
        count, [](const void* of, int64_t k) { (*static_cast<const Work*>(of))(k); }, &work);
  }

 private:
  using Call = void (*)(const void* work, int64_t k);
  void run(int64_t count, Call call, const void* work);
  void serve();
  void stop();  // ends and joins the threads
  void take_part();

  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  int64_t round_ = 0;
  size_t busy_ = 0;
  bool stopping_ = false;

  Call call_ = nullptr;
  const void* work_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  int64_t failed_at_ = 0;
  std::exception_ptr failure_;
};

}  // namespace drl

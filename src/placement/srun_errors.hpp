// Reads srun's messages about the ranks that it started.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <span>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "base/threads.hpp"
#include "launch/child.hpp"

namespace drl {

// Passes srun's standard error on, and keeps what srun says of the first task that failed.
class SrunErrors {
 public:
  explicit SrunErrors(ChildSettings& settings) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    from_ = Descriptor(ends[0]), to_ = Descriptor(ends[1]);
    settings.errors = to_;
    const BlockedSignals blocked;
    thread_ = std::jthread([this](const std::stop_token& over) { pass_on(over); });
  }
  // Call this when srun has ended.
  std::string first_end() {
    to_.close();
    if (thread_.joinable()) thread_.request_stop(), thread_.join();
    std::smatch found;
    const std::regex line(R"(srun: error: (\S+: tasks? [-0-9,]+: .*))");
    return std::regex_search(text_, found, line) ? found[1].str() : "";
  }

 private:
  static constexpr size_t kKept = 1 << 20;  // bytes
  void pass_on(const std::stop_token& over) {
    std::array<std::byte, 4096> bytes;
    for (pollfd file{from_, POLLIN, 0};;) {
      if (poll(&file, 1, 100) <= 0) {
        if (over.stop_requested()) return;
        continue;
      }
      const ssize_t count = read(from_, bytes.data(), bytes.size());
      if (count <= 0) return;
      const std::span<const std::byte> block(bytes.data(), static_cast<size_t>(count));
      write_all(STDERR_FILENO, block);
      text_.append(reinterpret_cast<const char*>(block.data()), block.size());
      if (text_.size() > 2 * kKept) text_.erase(0, text_.size() - kKept);  // srun's lines come last
    }
  }

  Descriptor from_, to_;
  std::string text_;
  std::jthread thread_;
};

}  // namespace drl

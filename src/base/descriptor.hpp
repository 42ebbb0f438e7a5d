// Open files, as the operating system knows them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace drl {

// Closes its file; a negative one is none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept { return std::swap(fd_, other.fd_), *this; }
  ~Descriptor() { close(); }
  operator int() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // 0, or -1 with the reason in errno: network file systems report late write errors here.
  int close();

 private:
  int fd_;
};

// Interrupted calls go on. False: errno holds the reason.
bool write_all(int fd, std::span<const std::byte> bytes);

// What is in an open folder, but "." and ".."; nothing if that cannot be read.
std::vector<std::string> names_in(int folder);

}  // namespace drl

// File descriptors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace drl {

// Owns a file descriptor and closes it; a negative value means no file.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept { return std::swap(fd_, other.fd_), *this; }
  ~Descriptor() { close(); }
  operator int() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // Returns 0, or -1 with the reason in errno. Network file systems report late write errors here.
  int close();

 private:
  int fd_;
};

// Opens /dev/null for standard input, output and error where they are closed, so that no file of this program gets
// their numbers and then receives what is meant for the console. main calls this first.
void open_standard_streams();

// Writes all of `bytes`, repeating interrupted calls. Returns false on failure, with the reason in errno.
bool write_all(int fd, std::span<const std::byte> bytes);

// Lists the entries of an open directory without "." and ".."; empty if it cannot be read.
std::vector<std::string> names_in(int folder);

}  // namespace drl

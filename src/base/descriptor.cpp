#include "base/descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace drl {

int Descriptor::close() { return fd_ < 0 ? 0 : ::close(release()); }

void open_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // gets the lowest free number, which is `stream`
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;  // a broken file system; another try would take for ever
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  Descriptor copy(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* entries = copy < 0 ? nullptr : fdopendir(copy);
  if (!entries) return names;
  copy.release();
  while (const dirent* entry = readdir(entries))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  closedir(entries);
  return names;
}

}  // namespace drl

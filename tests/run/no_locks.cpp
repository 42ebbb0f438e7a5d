// Library for LD_PRELOAD that simulates file systems without locks, such as Lustre mounted with noflock. NO_LOCKS is
// the error number, ENOSYS by default.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>

namespace {

int refuse() {
  const char* error = std::getenv("NO_LOCKS");
  errno = error ? std::atoi(error) : ENOSYS;
  return -1;
}

bool is_lock(int command) {
  switch (command) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return true;
    default:
      return false;
  }
}

int control(const char* name, int file, int command, void* argument) {
  using Control = int (*)(int, int, ...);
  static const auto next = reinterpret_cast<Control>(dlsym(RTLD_NEXT, name));
  return is_lock(command) ? refuse() : next(file, command, argument);
}

}  // namespace

extern "C" {

int flock(int, int) noexcept { return refuse(); }

int fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return control("fcntl", file, command, argument);
}

int fcntl64(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return control("fcntl64", file, command, argument);
}
}

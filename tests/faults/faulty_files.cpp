// Library for LD_PRELOAD that simulates file systems that fail or are slow. While the file FAULTS/<call> exists, where
// FAULTS is a variable that names a directory, the calls of that name fail on paths that contain "/runs/". The file
// holds an error number, and the seconds that the call takes before it fails; with error number 0, it then succeeds.
// A call that takes time first creates the file FAULTS/waiting.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Returns the error number of a call, or 0 if it should succeed. Makes system calls directly, not through this library.
int fault(const char* call, const char* path) {
  const char* folder = std::getenv("FAULTS");
  if (!folder || !path || !std::strstr(path, "/runs/")) return 0;
  char name[4096], text[64] = "";
  std::snprintf(name, sizeof name, "%s/%s", folder, call);
  const int before = errno;
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC));
  errno = before;
  if (file < 0) return 0;
  ::syscall(SYS_read, file, text, sizeof text - 1);
  ::syscall(SYS_close, file);
  int error = 0;
  double seconds = 0;
  std::sscanf(text, "%d %lf", &error, &seconds);
  const timespec pause = {static_cast<time_t>(seconds),
                          static_cast<long>(1e9 * (seconds - static_cast<long>(seconds)))};
  if (seconds > 0) {
    std::snprintf(name, sizeof name, "%s/waiting", folder);
    ::syscall(SYS_close, ::syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ::nanosleep(&pause, nullptr);
  }
  errno = error != 0 ? error : before;
  return error;
}

int fault(const char* call, int file) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = ::readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return fault(call, path);
}

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Opening for reading succeeds, so that only new files are affected.
bool creates(int flags) { return (flags & (O_CREAT | O_WRONLY | O_RDWR)) != 0; }

int open_or_fail(const char* path, int flags, va_list arguments) {
  const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
  if (creates(flags) && fault("open", path)) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

FILE* open_stream(const char* function, const char* path, const char* mode) {
  if (std::strpbrk(mode, "wa+") && fault("open", path)) return nullptr;
  return next(function, fopen)(path, mode);
}

}  // namespace

#define DRL_OPEN(name)                                     \
  int name(const char* path, int flags, ...) {             \
    va_list arguments;                                     \
    va_start(arguments, flags);                            \
    const int file = open_or_fail(path, flags, arguments); \
    va_end(arguments);                                     \
    return file;                                           \
  }

extern "C" {

DRL_OPEN(open)
DRL_OPEN(open64)
FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

ssize_t write(int file, const void* data, size_t size) {
  return fault("write", file) ? -1 : static_cast<ssize_t>(::syscall(SYS_write, file, data, size));
}

int fsync(int file) { return fault("fsync", file) ? -1 : static_cast<int>(::syscall(SYS_fsync, file)); }
int fdatasync(int file) { return fault("fsync", file) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, file)); }

int rename(const char* from, const char* to) noexcept {
  return fault("rename", to) ? -1 : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int symlink(const char* target, const char* path) noexcept {
  return fault("symlink", path) ? -1 : static_cast<int>(::syscall(SYS_symlinkat, target, AT_FDCWD, path));
}

int mkdir(const char* path, mode_t mode) noexcept {
  return fault("mkdir", path) ? -1 : static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
}

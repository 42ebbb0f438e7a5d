// A limit of the address space (ulimit -v) below what libraries take while they are loaded: libtorch's initialisers
// then end the program with std::bad_alloc, before main. This looks before them, and so before much of C++ is there.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace drl {
namespace {

constexpr uint64_t kLoading = uint64_t{128} << 20;  // libtorch's tables of operators
constexpr uint64_t kThread = uint64_t{136} << 20;   // of OpenBLAS, made when it is loaded: a stack, an arena of malloc
constexpr int kMostThreads = 128;                   // OpenBLAS's own limit in most builds

int is_openblas(dl_phdr_info* library, size_t, void*) { return std::strstr(library->dlpi_name, "openblas") != nullptr; }

int value_of(char** environment, const char* name) {
  const size_t length = std::strlen(name);
  for (; *environment; ++environment)
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return std::atoi(*environment + length + 1);
  return 0;
}

int threads_of_openblas(char** environment) {
  if (!dl_iterate_phdr(is_openblas, nullptr)) return 0;
  // 1: threads of its own, made when it is loaded; 0: none; 2: OpenMP's, made later.
  if (void* parallel = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
      parallel && reinterpret_cast<int (*)()>(parallel)() != 1)
    return 0;
  cpu_set_t cpus;
  int threads = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const int value = value_of(environment, name); value > 0) {
      threads = std::min(threads, value);
      break;
    }
  return std::min(threads, kMostThreads) - 1;  // the first is the program's own
}

uint64_t address_space_taken() {
  char text[64] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const bool known = file >= 0 && read(file, text, sizeof(text) - 1) > 0;
  if (file >= 0) close(file);
  return known ? std::strtoull(text, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void require_address_space_to_load(int, char**, char** environment) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const uint64_t taken = address_space_taken(),
                 wanted = kLoading + kThread * static_cast<uint64_t>(threads_of_openblas(environment));
  if (taken + wanted <= limit.rlim_cur) return;
  char message[256];
  const int length = std::snprintf(
      message, sizeof(message),
      "error: the limit of the address space leaves %llu MiB (ulimit -v %llu), and libraries take up to %llu MiB while "
      "they are loaded: ulimit -v unlimited; in a job ask for more memory\n",
      static_cast<unsigned long long>((limit.rlim_cur - std::min<uint64_t>(taken, limit.rlim_cur)) >> 20),
      static_cast<unsigned long long>(limit.rlim_cur >> 10), static_cast<unsigned long long>(wanted >> 20));
  const bool said = write(STDERR_FILENO, message, static_cast<size_t>(length)) == length;
  _exit(said ? kUsage : kFailure);
}

// Called before the initialisers of all libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**,
                                                                             char**) = require_address_space_to_load;

}  // namespace
}  // namespace drl

#endif

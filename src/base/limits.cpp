#include "base/limits.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr uint64_t kKibibyte = 1024;
constexpr uint64_t kStack = 8192, kLeastStack = 2048;  // KiB; the functions of Go1 in lanes need almost 1024
constexpr uint64_t kFiles = 1024, kLeastFiles = 64;  // a rank needs 50, with libtorch, MPI's sockets and its own files
constexpr uint64_t kFilesPerRank = 4;                // pipes and sockets of mpirun

using Resource = decltype(RLIMIT_STACK);

rlimit limit_of(Resource resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &limit);
  return limit;
}

// Raises a soft limit to `wanted` as far as the hard limit allows, and returns the hard limit.
uint64_t raise(Resource resource, uint64_t wanted) {
  rlimit limit = limit_of(resource);
  if (limit.rlim_cur >= wanted) return limit.rlim_max;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted);
  setrlimit(resource, &limit);
  return limit.rlim_max;
}

// Returns "; ulimit -n is 64, ..." for the limit that the shell sets with `ulimit OPTION` in units of `unit`; "" if it
// is unlimited.
std::string limit_text(Resource resource, const char* option, rlim_t unit) {
  const rlimit limit = limit_of(resource);
  if (limit.rlim_cur == RLIM_INFINITY) return "";
  const std::string hard =
      limit.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(static_cast<uint64_t>(limit.rlim_max / unit));
  return fmt::format("; ulimit {} is {}, and {}", option, limit.rlim_cur / unit,
                     limit.rlim_cur < limit.rlim_max ? fmt::format("\"ulimit {} {}\" raises it", option, hard)
                                                     : "this shell cannot raise it: use one with a higher limit");
}

uint64_t files_for(int ranks) { return kLeastFiles + kFilesPerRank * static_cast<uint64_t>(ranks); }

}  // namespace

std::string limit_problem(const Limit& limit, const std::string& program) {
  if (limit.hard >= limit.least) return "";
  const std::string wanted = std::to_string(std::max(limit.least, limit.common));
  return "only " + std::to_string(limit.hard) + " " + limit.allowed + " (the hard limit of ulimit " + limit.option +
         "), and " + program + " needs " + std::to_string(limit.least) + ": type ulimit " + limit.option + " " +
         wanted +
         " in a new shell, or ask the administrator to raise the hard limit; jobs take the limits of the shell that "
         "submits them";
}

void raise_limits() {
  raise(RLIMIT_STACK, kStack * kKibibyte);
  raise(RLIMIT_NOFILE, kFiles);
#if defined(__GLIBC__)
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < kLeastStack * kKibibyte &&
      pthread_attr_setstacksize(&attributes, kStack * kKibibyte) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}

std::string limits_problem(const std::string& program, int ranks) {
  const std::string stack = limit_problem({.option = "-s",
                                           .allowed = "KiB of stack are allowed",
                                           .hard = limit_of(RLIMIT_STACK).rlim_max / kKibibyte,
                                           .least = kLeastStack,
                                           .common = kStack},
                                          program);
  const std::string with_ranks = ranks > 1 ? program + " --ranks " + std::to_string(ranks) : program;
  return !stack.empty() ? stack
                        : limit_problem({.option = "-n",
                                         .allowed = "files may be open",
                                         .hard = raise(RLIMIT_NOFILE, std::max(kFiles, files_for(ranks))),
                                         .least = files_for(ranks),
                                         .common = kFiles},
                                        with_ranks);
}

std::string thread_problem(const std::string& reason) {
  std::vector<std::string> limits;
  if (const rlimit users = limit_of(RLIMIT_NPROC); users.rlim_cur != RLIM_INFINITY)
    limits.push_back("ulimit -u allows the user " + counted(static_cast<int64_t>(users.rlim_cur), "thread"));
  if (const rlimit space = limit_of(RLIMIT_AS); space.rlim_cur != RLIM_INFINITY)
    limits.push_back("ulimit -v allows the process " + human_bytes(static_cast<double>(space.rlim_cur)));
  limits.emplace_back("a job's cgroup may allow fewer threads, pids.max");
  return "the system starts no more threads (" + reason + "; " + join(limits, "; ") +
         "): use fewer --threads or --ranks, end other programs, or raise the limit";
}

std::string reason_of(int error) {
  const std::string limit = error == EMFILE  ? limit_text(RLIMIT_NOFILE, "-n", 1)
                            : error == EFBIG ? limit_text(RLIMIT_FSIZE, "-f", 1024)  // bash counts KiB
                                             : "";
  return std::strerror(error) + limit;
}

}  // namespace drl

#include "fuzz.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "../support/process.hpp"
#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"

namespace drl::faults {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr rlim_t kMemory = RLIM_INFINITY;  // the sanitizer reserves terabytes of addresses
#else
constexpr rlim_t kMemory = rlim_t{4} << 30;  // bytes of addresses, of which the libraries take a part
#endif
constexpr int kFound = 99;  // exit code of a child that has described its finding

// Memory that the child shares with its parent.
struct Shared {
  int64_t index, accepted, refused;
  double slowest;  // seconds
  char finding[1000];
};

std::string one_line(const std::string& text) { return printable(text, 700); }

// Throws Finding unless the message is one line without control characters.
void check_message(const std::string& text) {
  if (text.empty()) throw Finding("refused without a message");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) throw Finding("a message with control characters: " + text);
}

// Returns true if the input is accepted, false if it is refused.
bool is_accepted(Kind& kind, const std::string& input) {
  try {
    kind.read(input);
    return true;
  } catch (const UsageError& error) {
    check_message(error.what());
    return false;
  } catch (const Error& error) {
    throw Finding("exit code " + std::to_string(error.exit_code()) + " instead of 2: " + error.what());
  }
}

[[noreturn]] void work(Kind& kind, const FuzzRequest& request, Shared& shared) {
  const rlimit memory{kMemory, kMemory}, no_core{0, 0};
  ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &no_core);
  try {
    for (; shared.index < request.first + request.count; ++shared.index) {
      ::alarm(static_cast<unsigned>(request.seconds_per_input));
      Random random(request.seed, static_cast<uint64_t>(shared.index));
      const std::string input = kind.make(random);
      const double begin = steady_seconds();
      ++(is_accepted(kind, input) ? shared.accepted : shared.refused);
      shared.slowest = std::max(shared.slowest, steady_seconds() - begin);
    }
    ::_exit(0);
  } catch (const std::exception& error) {
    std::snprintf(shared.finding, sizeof shared.finding, "%s", one_line(error.what()).c_str());
    ::_exit(kFound);
  }
}

std::string description(int status, const Shared& shared, const FuzzRequest& request) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFound) return shared.finding;
  if (WIFEXITED(status)) return "the process ended with exit code " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM)
    return "still reading after " + std::to_string(static_cast<int>(request.seconds_per_input)) + " s";
  return std::string("killed by ") + ::strsignal(WTERMSIG(status));
}

void keep(const std::string& name, Kind& kind, const FuzzRequest& request, int64_t index) {
  if (request.keep.empty()) return;
  std::filesystem::create_directories(request.keep);
  Random random(request.seed, static_cast<uint64_t>(index));
  const std::string file = request.keep + "/" + name + "_" + std::to_string(request.seed) + "_" + std::to_string(index);
  std::ofstream(file, std::ios::binary) << kind.make(random);
  std::printf("  kept as %s\n", file.c_str());
}

}  // namespace

int run_on_input(const std::vector<std::string>& words, const std::string& directory) {
  const auto go_there = [&] {
    if (::chdir(directory.c_str()) != 0) ::_exit(99);
  };
  const Result result = Process(words, {}, go_there).wait(15);
  const std::string what = shell_line(words) + " ended with " + std::to_string(result.exit_code) + ": " + result.err;
  size_t errors = 0;
  for (const std::string& line : split(result.err, '\n')) errors += line.starts_with("error: ");
  const bool is_allowed = result.exit_code == 0 || result.exit_code == 2 ||
                          (result.exit_code == 1 && result.err.find("finite") != std::string::npos);
  if (!is_allowed || errors != (result.exit_code == 0 ? 0 : 1)) throw Finding(what);
  return result.exit_code;
}

int fuzz(const std::string& name, Kind& kind, const FuzzRequest& request) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("no shared memory (mmap failed): free memory");
  Shared& shared = *new (memory) Shared{request.first, 0, 0, 0, {}};
  const double begin = steady_seconds();
  int findings = 0;
  long most_memory = 0;  // KiB
  while (shared.index < request.first + request.count) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child < 0) throw Error("a child process cannot be started (fork failed): free memory");
    if (child == 0) work(kind, request, shared);
    int status = 0;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    most_memory = std::max(most_memory, used.ru_maxrss);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    ++findings;
    std::printf("FINDING: %s, input %ld of seed %lu: %s\n", name.c_str(), static_cast<long>(shared.index),
                static_cast<unsigned long>(request.seed), description(status, shared, request).c_str());
    keep(name, kind, request, shared.index);
    ++shared.index;
  }
  std::printf(
      "%s: %ld inputs of seed %lu in %.0f s: %ld accepted, %ld refused, %d findings; slowest %.0f ms, at most %ld "
      "MiB\n",
      name.c_str(), static_cast<long>(request.count), static_cast<unsigned long>(request.seed),
      steady_seconds() - begin, static_cast<long>(shared.accepted), static_cast<long>(shared.refused), findings,
      1e3 * shared.slowest, most_memory / 1024);
  ::munmap(memory, sizeof(Shared));
  return findings;
}

void read_one(Kind& kind, const std::string& input) {
  std::printf("%s\n", is_accepted(kind, input) ? "accepted" : "refused");
}

}  // namespace drl::faults

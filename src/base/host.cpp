#include "base/host.hpp"

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "base/process.hpp"

namespace drl {
namespace {

std::string formatted_utc_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::tm parts{};
  std::strftime(text, sizeof(text), format, gmtime_r(&now, &parts));
  return text;
}

}  // namespace

std::string host_name() {
  char name[256] = "localhost";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string utc_time() { return formatted_utc_time("%Y-%m-%dT%H:%M:%SZ"); }
std::string utc_time_for_names() { return formatted_utc_time("%Y-%m-%d_%H-%M-%S"); }

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double seconds_since_start() {
  const std::optional<ProcessStat> self = process_stat("self");
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return self && self->start ? static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
                                   static_cast<double>(*self->start) / static_cast<double>(sysconf(_SC_CLK_TCK))
                             : -1;
}

}  // namespace drl

#include "base/host.hpp"

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/text.hpp"

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

// The start time is field 22 (proc(5)). Field 2 is the name in parentheses, which may contain any character.
std::optional<int64_t> start_ticks(const std::string& stat) {
  const size_t name_end = stat.rfind(") ");
  const std::vector<std::string> fields = split(name_end == std::string::npos ? "" : stat.substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  return number_in<int64_t>(fields[19]);
}

double seconds_since_start() {
  std::ifstream file("/proc/self/stat");
  const auto ticks = start_ticks({std::istreambuf_iterator<char>(file), {}});
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return ticks ? static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
                     static_cast<double>(*ticks) / static_cast<double>(sysconf(_SC_CLK_TCK))
               : -1;
}

}  // namespace drl

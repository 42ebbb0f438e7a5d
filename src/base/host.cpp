#include "base/host.hpp"

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>
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

double seconds_since_start() {
  const std::optional<ProcessStat> self = process_stat("self");
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return self && self->start ? static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
                                   static_cast<double>(*self->start) / static_cast<double>(sysconf(_SC_CLK_TCK))
                             : -1;
}

// Field 2 is the name in parentheses, which may contain any character.
std::optional<ProcessStat> parse_process_stat(const std::string& text) {
  constexpr size_t kState = 3, kParent = 4, kStart = 22;  // the numbers of proc(5)
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = split(text.substr(name_end + 2), ' ');
  const auto number = [&](size_t field) {
    return field - kState < fields.size() ? number_in<int64_t>(fields[field - kState]) : std::nullopt;
  };
  const std::optional<int64_t> parent = number(kParent);
  if (!parent || fields[0].size() != 1) return std::nullopt;
  return ProcessStat{fields[0][0], static_cast<pid_t>(*parent), number(kStart)};
}

std::optional<ProcessStat> process_stat(const std::string& process) {
  return parse_process_stat(file_text("/proc/" + process + "/stat"));
}

}  // namespace drl

#include "base/process.hpp"

#include <fstream>
#include <iterator>
#include <vector>

#include "base/text.hpp"

namespace drl {

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
  std::ifstream file("/proc/" + process + "/stat");
  return parse_process_stat({std::istreambuf_iterator<char>(file), {}});
}

}  // namespace drl

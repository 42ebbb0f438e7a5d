#include "launch/environment.hpp"

#include <cstdlib>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr int kMostNodes = 1 << 20;  // refuses nonsense such as "1(x2000000000)"

[[noreturn]] void throw_unreadable(const char* name, const std::string& text, const char* expected) {
  throw UsageError(
      fmt::format("the launcher's variable {0} = \"{1}\" is not {2} (a script may have changed it): run \"unset {0}\", "
                  "or start the program with srun or mpirun",
                  name, printable(text), expected));
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::optional<int> number(const Environment& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  const auto value = number_in<int>(*text);
  if (!value) throw_unreadable(name, *text, "a number");
  return value;
}

std::vector<int> counts_per_node(const Environment& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  if (!text) return {};
  std::vector<int> counts;
  for (std::string_view part : split(*text, ',')) {
    std::optional<int> times = 1;
    const size_t bracket = part.find("(x");
    if (bracket != std::string_view::npos)
      times = part.ends_with(')') ? number_in<int>(part.substr(bracket + 2, part.size() - bracket - 3)) : std::nullopt;
    const auto count = number_in<int>(part.substr(0, bracket));
    if (!count || *count < 0 || !times || *times < 1 || *times > kMostNodes - static_cast<int>(counts.size()))
      throw_unreadable(name, *text, "a list of counts like 4(x2),3");
    counts.insert(counts.end(), static_cast<size_t>(*times), *count);
  }
  return counts;
}

}  // namespace drl

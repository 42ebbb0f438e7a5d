#include "cluster/environment.hpp"

#include <charconv>
#include <cstdlib>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr int kMostNodes = 1 << 20;  // "1(x2000000000)" is no cluster

std::optional<int> parse(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void throw_unreadable(const char* name, const std::string& text, const char* expected) {
  throw UsageError("the launcher's variable " + std::string(name) + " = \"" + printable(text) + "\" is not " +
                   expected + " (something changed it): start the program without it, or through srun or mpirun");
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
  const std::optional<int> value = parse(*text);
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
      times = part.ends_with(')') ? parse(part.substr(bracket + 2, part.size() - bracket - 3)) : std::nullopt;
    const std::optional<int> count = parse(part.substr(0, bracket));
    if (!count || *count < 0 || !times || *times < 1 || *times > kMostNodes - static_cast<int>(counts.size()))
      throw_unreadable(name, *text, "a list of counts like 4(x2),3");
    counts.insert(counts.end(), static_cast<size_t>(*times), *count);
  }
  return counts;
}

}  // namespace drl

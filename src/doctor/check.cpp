#include "doctor/check.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace drl {
namespace {

constexpr size_t kStatusWidth = 9, kNameWidth = 19;

std::string padded(std::string text, size_t width) { return text.append(width - std::min(width, text.size()), ' '); }

}  // namespace

const char* name_of(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::skipped:
      return "skipped";
    case Status::warning:
      return "warning";
    default:
      return "failed";
  }
}

std::string lines_of(const Check& check) {
  std::string text =
      padded(name_of(check.status), kStatusWidth) + padded(check.name, kNameWidth) + check.finding + "\n";
  if (!check.remedy.empty()) text += std::string(kStatusWidth, ' ') + "-> " + check.remedy + "\n";
  return text;
}

std::string summary_of(const std::vector<Check>& checks) {
  std::string text = counted(static_cast<int64_t>(checks.size()), "check") + ":";
  const char* separator = " ";
  for (Status status : {Status::ok, Status::skipped, Status::warning, Status::failed}) {
    const auto number = std::ranges::count(checks, status, &Check::status);
    if (number == 0) continue;
    const bool plural = status == Status::warning && number > 1;
    text += separator + std::to_string(number) + " " + name_of(status) + (plural ? "s" : "");
    separator = ", ";
  }
  return text + "\n";
}

bool any_failed(const std::vector<Check>& checks) {
  return std::ranges::any_of(checks, [](const Check& check) { return check.status == Status::failed; });
}

Check check_of_message(const std::string& name, Status status, const std::string& message) {
  const size_t why = message.find('('), end = message.find(": ", why == std::string::npos ? 0 : message.find(')', why));
  if (end == std::string::npos) return {name, status, message};
  return {name, status, message.substr(0, end), message.substr(end + 2)};
}

}  // namespace drl

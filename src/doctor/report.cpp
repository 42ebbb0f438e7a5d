#include "doctor/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"

namespace drl {

using fmt::format;

std::string lines_of(const Check& check) {
  return format("{:<9}{:<19}{}\n", name_of(check.status), check.name, check.finding) +
         (check.remedy.empty() ? "" : format("{:9}-> {}\n", "", check.remedy));
}

std::string summary_of(const std::vector<Check>& checks) {
  std::vector<std::string> parts;
  for (Status status : {Status::ok, Status::skipped, Status::warning, Status::failed}) {
    const auto number = std::ranges::count(checks, status, &Check::status);
    const char* plural = status == Status::warning && number > 1 ? "s" : "";
    if (number > 0) parts.push_back(format("{} {}{}", number, name_of(status), plural));
  }
  return counted(std::ssize(checks), "check") + ": " + join(parts, ", ") + "\n";
}

bool any_failed(const std::vector<Check>& checks) {
  return std::ranges::find(checks, Status::failed, &Check::status) != checks.end();
}

Check check_of_message(Status status, const std::string& message) {
  const size_t why = message.find('('), end = message.find(": ", why == std::string::npos ? 0 : message.find(')', why));
  if (end == std::string::npos) return {status, message};
  return {status, message.substr(0, end), message.substr(end + 2)};
}

void Report::require_json_file() const {
  if (json_file_.empty() || json_file_ == kStandardOutput) return;
  const std::filesystem::path folder = std::filesystem::absolute(json_file_).parent_path();
  if (access(folder.c_str(), W_OK) == 0 && !std::filesystem::is_directory(json_file_)) return;
  throw UsageError(
      "--json " + json_file_ +
      " cannot be written (its directory is missing or read-only, or it is itself a directory): choose another file");
}

void Report::add_ranks(const std::vector<RankFacts>& ranks, const std::string& headline) {
  const std::lock_guard lock(mutex_);
  ranks_ = ranks;
  held_ = headline + "\n" + table_of(ranks) + "\n" + held_;
  release();
}

void Report::add(const Check& check) {
  const std::lock_guard lock(mutex_);
  checks_.push_back(check);
  held_ += lines_of(check);
  if (!ranks_.empty()) release();
}

void Report::add_figures(const std::string& name, const nlohmann::ordered_json& figures) {
  const std::lock_guard lock(mutex_);
  figures_[name] = figures;
}

void Report::release() {
  FILE* out = json_file_ == kStandardOutput ? stderr : stdout;
  if (active_) std::fputs(held_.c_str(), out);
  std::fflush(out);
  held_.clear();
}

int Report::finish() {
  const std::lock_guard lock(mutex_);
  const int code = any_failed(checks_) ? kFailure : kDone;
  if (!active_) return code;
  held_ += summary_of(checks_);
  release();
  if (json_file_.empty()) return code;
  const nlohmann::ordered_json all = {{"version", kVersion},
                                      {"git_hash", kGitHash},
                                      {"time", utc_time()},
                                      {"exit_code", code},
                                      {"ranks", nlohmann::json(ranks_)},
                                      {"checks", nlohmann::json(checks_)},
                                      {"figures", figures_}};
  // Invalid UTF-8, as paths may contain, is replaced; the library would throw by default.
  const std::string text = all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (json_file_ == kStandardOutput && std::puts(text.c_str()) >= 0 && std::fflush(stdout) == 0) return code;
  std::ofstream file(json_file_);
  file << text << std::endl;
  if (file) return code;
  log::error("--json {} could not be written (the file system rejected the write): choose another file", json_file_);
  return kFailure;
}

}  // namespace drl

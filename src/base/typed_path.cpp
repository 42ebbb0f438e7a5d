#include "base/typed_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <system_error>

#include "base/check.hpp"
#include "base/text.hpp"

namespace fs = std::filesystem;

namespace drl {

namespace {

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// Returns the text with all variables replaced, or nullopt if one of them is not set.
std::optional<std::string> with_variables(std::string text, const std::regex& pattern) {
  for (std::smatch found; std::regex_search(text, found, pattern);) {
    const auto value = variable(found[1].matched ? found[1] : found[2]);
    if (!value || value->find('$') != std::string::npos) return std::nullopt;
    text = found.prefix().str() + *value + found.suffix().str();
  }
  return text;
}

// Returns the directory beside latest/ whose run.json was written last, or nothing if there is none.
fs::path newest_beside(const fs::path& latest) {
  fs::path newest;
  fs::file_time_type time;
  for (const fs::path& run : entries_of(latest.parent_path())) {
    std::error_code none;
    const fs::file_time_type written = fs::last_write_time(run / "run.json", none);
    if (!none && run.filename() != kLatest && (newest.empty() || written > time)) newest = run, time = written;
  }
  return newest;
}

bool exists_or_is_latest(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) || fs::exists(run_of(path), error);
}

}  // namespace

std::string typed_path(const std::string& name, std::string_view text) {
  static const std::regex pattern(R"(\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\}))");
  const auto refuse = [&](const std::string& problem, const std::string& why, const std::string& what) {
    throw UsageError(name + " = " + shown(text) + " " + problem + " (" + why + "): " + what);
  };
  std::string path(text);
  if (std::ranges::any_of(path, [](unsigned char c) { return c < 32 || c == 127; }))
    refuse("has a control character", "perhaps the line end of a file from Windows", "remove it");
  if (std::regex_search(path, pattern)) {
    const auto meant = with_variables(path, pattern);
    refuse("has a variable that no shell has replaced", "single quotes and files keep variables as they are",
           meant ? "write " + shown(*meant) : std::string("write the path itself"));
  }
  if (!path.starts_with("~")) return path;
  if (path.size() > 1 && path[1] != '/')
    refuse("begins with another user's home directory or a name", "only ~ and ~/ mean the home directory here",
           "write the whole path, or ./" + printable(path));
  const auto home = variable("HOME");
  if (!home) refuse("begins with ~", "HOME is not set", "write the whole path");
  return *home + path.substr(1);
}

std::filesystem::path installation() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
}

fs::path runs_folder(const std::string& runs_dir) {
  const char* variable = std::getenv("DRL_RUNS_DIR");
  return !runs_dir.empty() ? runs_dir : variable && *variable ? typed_path("DRL_RUNS_DIR", variable) : "runs";
}

fs::path in_runs_folder(const fs::path& path, const std::string& runs_dir) {
  if (path.empty() || path.is_absolute() || exists_or_is_latest(path)) return path;
  const fs::path plain = path.lexically_normal();
  const bool has_prefix = !plain.empty() && *plain.begin() == "runs";
  const fs::path other = runs_folder(runs_dir) / (has_prefix ? plain.lexically_relative("runs") : plain);
  return exists_or_is_latest(other) ? other : path;
}

fs::path run_of(const fs::path& given) {
  const fs::path path = given.has_filename() ? given : given.parent_path();  // without a slash at the end
  std::error_code error;
  if (fs::is_symlink(path, error)) return path.parent_path() / fs::read_symlink(path, error);
  if (path.filename() != kLatest) return path;
  const fs::path file = fs::read_symlink(path / "checkpoints", error);
  if (!file.empty()) return (path / file).parent_path().lexically_normal();
  const fs::path newest = fs::exists(path / "checkpoints", error) ? "" : newest_beside(path);
  return newest.empty() ? path : newest;
}

}  // namespace drl

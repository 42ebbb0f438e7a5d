#include "base/runs_folder.hpp"

#include <cstdlib>
#include <system_error>

namespace fs = std::filesystem;

namespace drl {

fs::path runs_folder(const std::string& runs_dir) {
  const char* variable = std::getenv("DRL_RUNS_DIR");
  return !runs_dir.empty() ? runs_dir : variable && *variable ? variable : "runs";
}

fs::path in_runs_folder(const fs::path& path, const std::string& runs_dir) {
  std::error_code error;
  if (path.empty() || path.is_absolute() || fs::exists(path, error)) return path;
  const fs::path plain = path.lexically_normal();
  const bool has_prefix = !plain.empty() && *plain.begin() == "runs";
  const fs::path other = runs_folder(runs_dir) / (has_prefix ? plain.lexically_relative("runs") : plain);
  return fs::exists(other, error) ? other : path;
}

}  // namespace drl

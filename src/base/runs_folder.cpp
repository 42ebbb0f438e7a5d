#include "base/runs_folder.hpp"

#include <cstdlib>
#include <system_error>

#include "base/typed_path.hpp"

namespace fs = std::filesystem;

namespace drl {

fs::path runs_folder(const std::string& runs_dir) {
  const char* variable = std::getenv("DRL_RUNS_DIR");
  return !runs_dir.empty() ? runs_dir : variable && *variable ? typed_path("DRL_RUNS_DIR", variable) : "runs";
}

fs::path in_runs_folder(const fs::path& path, const std::string& runs_dir) {
  std::error_code error;
  if (path.empty() || path.is_absolute() || fs::exists(path, error)) return path;
  const fs::path plain = path.lexically_normal();
  const bool has_prefix = !plain.empty() && *plain.begin() == "runs";
  const fs::path other = runs_folder(runs_dir) / (has_prefix ? plain.lexically_relative("runs") : plain);
  return fs::exists(other, error) ? other : path;
}

fs::path run_of(const fs::path& given) {
  const fs::path path = given.has_filename() ? given : given.parent_path();  // without a slash at the end
  std::error_code error;
  if (fs::is_symlink(path, error)) return path.parent_path() / fs::read_symlink(path, error);
  const fs::path file = path.filename() == kLatest ? fs::read_symlink(path / "checkpoints", error) : "";
  return file.empty() ? path : (path / file).parent_path().lexically_normal();
}

}  // namespace drl

#include "run/films.hpp"

#include <optional>
#include <system_error>
#include <vector>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

constexpr double kPatience = 60;  // seconds that drl_eval may take to start and draw on a busy node

std::string drl_eval() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "drl_eval";
}

// Returns the error of drl_eval --check_video, or "" if it can record videos on this machine.
std::string video_problem() {
  BackgroundCommand check({drl_eval(), "--check_video"});
  const std::optional<int> code = check.wait(kPatience);
  if (code == 0) return "";
  if (!code) return fmt::format("drl_eval did not draw a picture within {:g} s: try drl_eval --check_video", kPatience);
  std::string_view words = trim(check.output());
  words.remove_prefix(words.find_last_of('\n') + 1);
  if (constexpr std::string_view mark = "error: "; words.starts_with(mark)) words.remove_prefix(mark.size());
  return printable(words, 1000);
}

}  // namespace

void require_films(const RunOptions& options, const std::string& task, bool is_resumed) {
  if (options.video_interval == 0) return;
  require_draw(task_record(task));
  if (const std::string problem = video_problem(); !problem.empty()) {
    if (!is_resumed) throw UsageError(problem + "; or leave --video_interval out");
    log::warn("no videos will be recorded (--video_interval): {}", problem);
  } else if (!is_on_path("ffmpeg")) {
    log::info("videos will be GIFs (ffmpeg is not on PATH)");
  }
}

std::unique_ptr<CheckpointHook> make_films(const RunOptions& options, const std::string& task,
                                           const std::filesystem::path& folder, int64_t iteration) {
  if (options.video_interval == 0) return nullptr;
  std::vector<std::string> command = {"nice", "-n", "10", drl_eval(), "--episodes", "1"};
  if (const TaskLibraryFile* library = task_library_of(task))
    command.insert(command.end(), {"--task_library", library->file});
  const std::string ending = is_on_path("ffmpeg") ? ".mp4" : ".gif";
  return std::make_unique<CheckpointHook>(
      "exec " + shell_line(command) + " --checkpoint \"$1\" --video \"${1%.h5}" + ending + "\"",
      folder / "logs" / "video.log", "the video (--video_interval)", options.video_interval,
      iteration / options.save_interval);
}

}  // namespace drl

#include "run/checkpoint_hook.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "launch/child.hpp"

namespace drl {

namespace {

constexpr double kQuietWait = 2;  // seconds that finish() waits before it logs a message
constexpr double kTick = 0.1;     // seconds between checks for a request to stop

}  // namespace

CheckpointHook::CheckpointHook(std::string command, std::filesystem::path log, std::string name, int interval,
                               int64_t earlier)
    : command_(std::move(command)),
      log_(std::move(log)),
      name_(name.empty() ? "--after_checkpoint \"" + printable(command_) + "\"" : std::move(name)),
      interval_(interval),
      checkpoints_(earlier) {}

void CheckpointHook::run(const std::filesystem::path& checkpoint, std::function<void()> done) {
  if (++checkpoints_ % interval_ != 0) {
    if (done) done();
    return;
  }
  next_ = Work{std::filesystem::absolute(checkpoint), std::move(done)};
  poll();
}

void CheckpointHook::poll() {
  if (running_)
    if (const std::optional<int> code = running_->exit_code()) handle_exit(*code);
  if (running_ || !next_) return;
  current_ = *std::exchange(next_, std::nullopt);
  std::error_code failed;                                         // then the command fails, too, and reports the reason
  std::filesystem::create_directory(log_.parent_path(), failed);  // it may have been removed during the run
  running_.emplace(
      std::vector<std::string>{"/bin/sh", "-c", command_, "after_checkpoint", current_.checkpoint.string()},
      log_.string());
}

std::vector<std::filesystem::path> CheckpointHook::pending_checkpoints() const {
  std::vector<std::filesystem::path> all;
  if (running_) all.push_back(current_.checkpoint);
  if (next_) all.push_back(next_->checkpoint);
  return all;
}

bool CheckpointHook::finish(double patience, const std::function<bool()>& stopped) {
  const double begin = steady_seconds();
  bool noted = false;
  for (poll(); running_; poll()) {
    const bool is_done = running_->wait(std::min(kTick, begin + patience - steady_seconds())).has_value();
    if (stopped && stopped())
      return cancel("a stop was requested"), false;  // the signal may have ended the command, too
    if (is_done) continue;
    const double waited = steady_seconds() - begin;
    if (waited >= patience) {
      cancel("the time is up");
    } else if (waited >= kQuietWait && !std::exchange(noted, true)) {
      log::info("waiting for {} ({})", name_, current_.checkpoint.filename().string());
    }
  }
  return true;
}

void CheckpointHook::cancel(const std::string& why) {
  log::warn("{} was cancelled ({}, and it was still busy with {}{}): run it by hand for what is missing", name_, why,
            current_.checkpoint.string(), next_ ? ", and had not begun with " + next_->checkpoint.string() : "");
  running_.reset();
  next_.reset();
}

void CheckpointHook::handle_exit(int code) {
  running_.reset();
  if (code != 0 && !std::exchange(warned_, true))
    log::warn("{} failed for {} (exit code {}): see {}; training continues, and further failures are not reported",
              name_, current_.checkpoint.string(), code, log_.string());
  if (current_.done) current_.done();
}

namespace {

constexpr const char* kSmallFilm = ".small.gif";  // ends the name of the GIF that is made of a video for TensorBoard
constexpr double kPatience = 60;                  // seconds that drl_eval may take to start and draw on a busy node

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
  const std::string record = shell_line(command) + " --checkpoint \"$1\" --video \"${1%.h5}";
  const std::string line = is_on_path("ffmpeg")
                               ? record + ".mp4\" && ffmpeg -nostdin -v error -y -i \"${1%.h5}.mp4\" " +
                                     "-vf fps=10,scale=240:-2 \"${1%.h5}" + kSmallFilm + "\""
                               : "exec " + record + ".gif\"";
  return std::make_unique<CheckpointHook>(line, folder / "logs" / "video.log", "the video (--video_interval)",
                                          options.video_interval, iteration / options.save_interval);
}

std::string take_film(const std::filesystem::path& checkpoint) {
  std::filesystem::path film = checkpoint, small = checkpoint;
  film.replace_extension(".gif"), small.replace_extension(kSmallFilm);
  std::error_code failed;
  const bool is_small = std::filesystem::exists(small, failed);
  std::ifstream file(is_small ? small : film, std::ios::binary);
  const std::string gif{std::istreambuf_iterator<char>(file), {}};
  if (is_small) std::filesystem::remove(small, failed);
  return gif;
}

}  // namespace drl

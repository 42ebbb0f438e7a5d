#include "run/checkpoint_hook.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

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

}  // namespace drl

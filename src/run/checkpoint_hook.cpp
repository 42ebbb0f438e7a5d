#include "run/checkpoint_hook.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr double kQuietWait = 2;  // seconds

}  // namespace

CheckpointHook::CheckpointHook(std::string command, std::filesystem::path log)
    : command_(std::move(command)), log_(std::move(log)) {}

void CheckpointHook::run(const std::filesystem::path& checkpoint, std::function<void()> done) {
  next_ = Work{std::filesystem::absolute(checkpoint), std::move(done)};
  poll();
}

void CheckpointHook::poll() {
  if (running_)
    if (const std::optional<int> code = running_->exit_code()) ended(*code);
  if (running_ || !next_) return;
  at_ = *std::exchange(next_, std::nullopt);
  running_.emplace(std::vector<std::string>{"/bin/sh", "-c", command_, "after_checkpoint", at_.checkpoint.string()},
                   log_.string());
}

void CheckpointHook::finish(double patience) {
  const double end = steady_seconds() + patience;
  poll();
  if (running_ && !running_->wait(std::min(kQuietWait, patience)))
    log::info("waiting for --after_checkpoint \"{}\" ({})", printable(command_), at_.checkpoint.filename().string());
  for (; running_; poll()) {
    if (running_->wait(end - steady_seconds())) continue;
    log::warn(
        "--after_checkpoint \"{}\" is ended (it is still busy with {}, and the job's time is up): copy that later",
        printable(command_), at_.checkpoint.string());
    running_.reset();
    next_.reset();
  }
}

void CheckpointHook::ended(int code) {
  running_.reset();
  if (code != 0 && !std::exchange(warned_, true))
    log::warn("--after_checkpoint \"{}\" failed for {} (exit code {}): see {}; training goes on, and this is said once",
              printable(command_), at_.checkpoint.string(), code, log_.string());
  if (at_.done) at_.done();
}

}  // namespace drl

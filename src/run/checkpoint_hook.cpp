#include "run/checkpoint_hook.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr double kQuietWait = 2;  // seconds

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
    if (const std::optional<int> code = running_->exit_code()) ended(*code);
  if (running_ || !next_) return;
  at_ = *std::exchange(next_, std::nullopt);
  running_.emplace(std::vector<std::string>{"/bin/sh", "-c", command_, "after_checkpoint", at_.checkpoint.string()},
                   log_.string());
}

std::vector<std::filesystem::path> CheckpointHook::awaits() const {
  std::vector<std::filesystem::path> all;
  if (running_) all.push_back(at_.checkpoint);
  if (next_) all.push_back(next_->checkpoint);
  return all;
}

void CheckpointHook::finish(double patience) {
  const double end = steady_seconds() + patience;
  poll();
  if (running_ && !running_->wait(std::min(kQuietWait, patience)))
    log::info("waiting for {} ({})", name_, at_.checkpoint.filename().string());
  for (; running_; poll()) {
    if (running_->wait(end - steady_seconds())) continue;
    log::warn("{} is ended (it is still busy with {}, and time is up): see to that later", name_,
              at_.checkpoint.string());
    running_.reset();
    next_.reset();
  }
}

void CheckpointHook::ended(int code) {
  running_.reset();
  if (code != 0 && !std::exchange(warned_, true))
    log::warn("{} failed for {} (exit code {}): see {}; training goes on, and this is said once", name_,
              at_.checkpoint.string(), code, log_.string());
  if (at_.done) at_.done();
}

}  // namespace drl

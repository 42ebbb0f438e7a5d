#include "run/async_writer.hpp"

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "base/failure.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "placement/stop.hpp"
#include "run/run_directory.hpp"

namespace drl {
namespace {
constexpr std::chrono::milliseconds kFlushInterval{3000};
constexpr std::chrono::milliseconds kHookInterval{200};  // between polls while a command after a checkpoint runs
constexpr std::chrono::milliseconds kFlushPoll{100};
constexpr double kFilmPatience = 120;  // seconds to wait for a video after the training
constexpr size_t kPendingSaves = 8;    // in memory, while the file system is too slow

std::string newest_beside(const std::filesystem::path& checkpoint) {
  const std::vector<std::filesystem::path> files = list_checkpoints(checkpoint.parent_path().parent_path());
  return files.empty() ? "the run has no checkpoint" : "the newest checkpoint is " + files.front().string();
}

}  // namespace

AsyncWriter::AsyncWriter(std::unique_ptr<CsvWriter> csv, std::unique_ptr<EventWriter> events,
                         std::unique_ptr<CheckpointHook> hook, std::function<bool()> is_mine,
                         std::unique_ptr<CheckpointHook> films)
    : csv_(std::move(csv)),
      events_(std::move(events)),
      hook_(std::move(hook)),
      films_(std::move(films)),
      is_mine_(std::move(is_mine)),
      thread_(starting_thread([this] { return std::thread([this] { work(); }); })) {}

AsyncWriter::~AsyncWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void AsyncWriter::append(const IterationMetrics& metrics) {
  const std::lock_guard lock(mutex_);
  rows_.push_back(metrics);
}

void AsyncWriter::save(Save save) {
  {
    const std::lock_guard lock(mutex_);
    saves_.push_back(std::move(save));
    if (saves_.size() > kPendingSaves) {
      if (write_) ++write_->left_out;
      const auto droppable =
          std::find_if(saves_.begin(), saves_.end(), [](const Save& pending) { return pending.droppable; });
      saves_.erase(droppable < saves_.end() - 1
                       ? droppable
                       : saves_.begin());  // the oldest of several best checkpoints is no longer the best
    }
  }
  wake_.notify_one();
}

void AsyncWriter::begin_write(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  try {
    write_ = {.file = file, .begin = steady_seconds()};
  } catch (const std::bad_alloc&) {  // a slow write will then not be reported
  }
}

void AsyncWriter::end_write() {
  std::optional<Write> write;
  {
    const std::lock_guard lock(mutex_);
    write = std::exchange(write_, std::nullopt);
  }
  if (write && write->next_report > 0)
    log::info("writing {} has ended after {:.0f} s (checkpoints left out meanwhile: {})", write->file.string(),
              steady_seconds() - write->begin, write->left_out);
}

std::optional<std::pair<std::filesystem::path, double>> AsyncWriter::slow_write(double limit) {
  const std::lock_guard lock(mutex_);
  if (!write_) return std::nullopt;
  const double seconds = steady_seconds() - write_->begin;
  if (seconds < std::max(limit, write_->next_report)) return std::nullopt;
  write_->next_report = 2 * seconds;
  return std::pair(write_->file, seconds);
}

void AsyncWriter::report_slow_write(double limit) {
  if (const auto slow = slow_write(limit))
    log::warn(
        "writing {} has taken {:.0f} s so far (the file system is slow, or the job was suspended): training goes on, "
        "but if the job is killed now, the iterations since the previous checkpoint are lost",
        slow->first.string(), slow->second);
}

bool AsyncWriter::flush(double quiet) {
  std::unique_lock lock(mutex_);
  flush_ = true;
  if (write_) write_->next_report = std::min(write_->next_report, quiet);
  wake_.notify_one();
  while (!idle_.wait_for(lock, kFlushPoll, [this] { return !flush_ && saves_.empty() && !busy_; })) {
    lock.unlock();
    if (const auto slow = slow_write(quiet))
      log::info("waiting until {} is written ({:.0f} s so far)", slow->first.string(), slow->second);
    lock.lock();
  }
  return saved_ && mine_;
}

bool AsyncWriter::finish_hook(double patience) {
  if (!hook_ && !films_) return true;
  std::unique_lock lock(mutex_);
  hook_patience_ = patience;
  wake_.notify_one();
  idle_.wait(lock, [this] { return !hook_patience_ && !busy_; });
  return !films_cancelled_;
}

void AsyncWriter::work() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    const std::chrono::milliseconds interval = hooks_busy() ? kHookInterval : kFlushInterval;
    wake_.wait_for(lock, interval, [this] { return !saves_.empty() || flush_ || hook_patience_ || stop_; });
    last = stop_;
    const std::vector<IterationMetrics> rows = std::exchange(rows_, {});
    const std::deque<Save> saves = std::exchange(saves_, {});
    const std::optional<double> hook_patience = std::exchange(hook_patience_, std::nullopt);
    flush_ = false;
    busy_ = true;
    lock.unlock();
    const auto write = [&](const std::filesystem::path& file, const std::function<void()>& work) {
      if (!may_write()) return;
      begin_write(file);
      work();
      end_write();
    };
    write(csv_->path(), [&] { write_rows(rows, !saves.empty()); });
    for (const Save& save : saves) write(save.path, [&] { write_checkpoint_file(save); });
    try {
      if (may_write()) hook_patience ? finish_hooks(*hook_patience) : poll_hooks();
    } catch (const std::exception& error) {
      log::warn("a command after a checkpoint cannot be watched: {}", message_of(error));
    }
    lock.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

std::vector<std::filesystem::path> AsyncWriter::checkpoints_in_use() const {
  std::vector<std::filesystem::path> all;
  for (const CheckpointHook* hook : {hook_.get(), films_.get()}) {
    if (!hook) continue;
    const std::vector<std::filesystem::path> its = hook->pending_checkpoints();
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

void AsyncWriter::poll_hooks() {
  if (hook_) hook_->poll();
  if (films_) films_->poll();
}

void AsyncWriter::finish_hooks(double patience) {
  const double begin = steady_seconds();
  if (hook_) hook_->finish(patience);
  const double left = std::clamp(patience - (steady_seconds() - begin), 0.0, kFilmPatience);
  const bool finished = !films_ || films_->finish(left, [] { return requested_stop() > Stop::to_be_continued; });
  const std::lock_guard lock(mutex_);
  films_cancelled_ = !finished;
}

// Writes the rows. Rows that cannot be written stay in memory until the next call.
void AsyncWriter::write_rows(const std::vector<IterationMetrics>& rows, bool sync) {
  try {
    for (const IterationMetrics& row : rows) {
      csv_->append(row);
      if (events_) events_->append(row);
    }
    sync ? csv_->sync() : csv_->flush();
    if (events_) events_->flush();
    rows_failed_ = false;
  } catch (const std::exception& error) {
    if (!rows_failed_)
      log::warn("metrics cannot be written at the moment, and training goes on: {}", message_of(error));
    rows_failed_ = true;
  }
}

void AsyncWriter::write_checkpoint_file(const Save& save) {
  bool saved = false;
  try {
    std::error_code failed;  // then the write fails, too, and reports the reason
    std::filesystem::create_directory(save.path.parent_path(), failed);  // it may have been removed during the run
    write_checkpoint(save.path, save.checkpoint);
    saved = true;
    if (!may_write()) return;  // the write may have taken long
    if (save.after_save) save.after_save();
    if (films_)
      films_->run(save.path, [this, path = save.path, step = save.iteration] {
        const std::string gif = take_film(path);
        if (events_ && !gif.empty()) events_->append_film("film", gif, step), events_->flush();
      });
    if (hook_)
      hook_->run(save.path, save.after_hook);
    else if (save.after_hook)
      save.after_hook();
  } catch (const std::exception& error) {
    if (saved)
      log::warn("{} is saved, but a step after the save failed: {}", save.path.string(), message_of(error));
    else
      log::warn("THE CHECKPOINT WAS NOT SAVED: {}. Training goes on; {}.", message_of(error), newest_beside(save.path));
  }
  const std::lock_guard lock(mutex_);
  saved_ = saved;
}

}  // namespace drl

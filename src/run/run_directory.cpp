#include "run/run_directory.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/json_value.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "placement/stop.hpp"
#include "run/pretrained.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

// --- What the user gave ---

bool is_folder(const fs::path& path) { return type_of(path) == fs::file_type::directory; }

fs::path runs_of_task(const RunOptions& options, const RunContext& context) {
  return runs_folder(options.runs_dir) / context.task;
}

void check_run_name(const std::string& option, const std::string& name) {
  constexpr size_t kLongest = 200;
  std::string why;
  if (name == "." || name == ".." || name.find('/') != std::string::npos)
    why = "it would be outside the directory of its task";
  if (name == kLatest) why = "latest stands for the newest run";
  if (name.size() > kLongest) why = "it has more than " + std::to_string(kLongest) + " characters";
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 32 || c == 127; })) why = "it has control characters";
  if (!why.empty())
    throw UsageError("--" + option + " \"" + printable(name, kLongest) + "\" cannot be a run's name (" + why +
                     "): give a plain name, and --runs_dir for another directory");
}

void check_exclusive(const RunOptions& o) {
  std::vector<std::string> given;
  if (o.resume) given.push_back("--resume");
  if (!o.load_run.empty()) given.push_back("--load_run");
  if (!o.checkpoint.empty()) given.push_back("--checkpoint");
  if (!o.init_from.empty()) given.push_back("--init_from");
  if (given.size() > 1)
    throw UsageError(join(given, " and ") +
                     " exclude each other (each selects a different start): give only one of them; --checkpoint FILE " +
                     "starts a new run from any checkpoint of another one");
  if (o.fresh && (o.resume || !o.load_run.empty()))
    throw UsageError("--fresh and " + given[0] +
                     " exclude each other (one starts again, the other resumes): give only one of them");
}

[[noreturn]] void refuse_in_use(const fs::path& run) {
  throw UsageError(
      "run " + run.string() +
      " is in use by another process (its run.json names the hosts and the job): stop that process, give another "
      "--run_name, or start a new run from a checkpoint of this one with --checkpoint");
}

// --- The directory latest/ ---

constexpr const char* kLinkedFiles[] = {"checkpoints", "logs", "metrics.csv", "options.ini", "run.json", "STOP"};

// Removes a directory of links, or a link. Nothing happens to a directory that has anything else.
void remove_links(const fs::path& latest) {
  std::error_code ignored;
  for (const char* name : kLinkedFiles)
    if (fs::is_symlink(latest / name, ignored)) fs::remove(latest / name, ignored);
  fs::remove(latest, ignored);
}

// Makes latest/ a directory with links to the files of this run. It is not a link to the run, because TensorBoard would
// follow it and show the run twice; therefore it also lacks the event files. The links may be made before the files:
// a STOP that is created in latest/ is in the run. A copy of a run that is called latest stays as it is.
void update_latest(const fs::path& run) {
  const fs::path folder = run.parent_path(), latest = folder / kLatest;
  std::error_code error;  // without latest/, training works as well
  const bool is_ours = fs::is_symlink(latest, error) || !path_exists(latest) || fs::is_empty(latest, error) ||
                       fs::is_symlink(latest / "checkpoints", error);
  if (run.filename() == kLatest || !is_ours) return;
  std::string fresh = (folder / ".latest.XXXXXX").string();
  if (!mkdtemp(fresh.data())) return;
  fs::permissions(fresh, fs::status(run, error).permissions(), error);
  for (const char* name : kLinkedFiles)
    fs::create_symlink(fs::path("..") / run.filename() / name, fs::path(fresh) / name, error);
  // Exchanges the two at once, where the file system can.
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, latest.c_str(), RENAME_EXCHANGE) != 0) {
    remove_links(latest);
    fs::rename(fresh, latest, error);
  }
  remove_links(fresh);
}

// --- What earlier starts have left ---

// Returns the directories called `name` of all tasks in the directory `runs`.
std::vector<fs::path> runs_of_all_tasks(const fs::path& runs, const std::string& name) {
  std::vector<fs::path> found;
  for (const fs::path& task : entries_of(runs))
    if (is_folder(run_of(task / name))) found.push_back(task / name);
  return found;
}

// Returns run.json as an earlier start left it, or an empty object.
nlohmann::json read_manifest(const fs::path& run) {
  const nlohmann::json manifest =
      nlohmann::json::parse(file_text(run / "run.json"), nullptr, /*allow_exceptions=*/false);
  return manifest.is_object() ? manifest : nlohmann::json::object();
}

bool has_job(const fs::path& run, const std::string& job_id) {
  const nlohmann::json ids = value_or(read_manifest(run), "job_ids", nlohmann::json::array());
  return !job_id.empty() && std::find(ids.begin(), ids.end(), job_id) != ids.end();
}

// Returns the changed options that affect the results, as "name: old -> new".
std::vector<std::string> changed_numbers(const fs::path& run, const OptionTable& table) {
  const fs::path file = run / "options.ini";
  std::vector<std::string> changes;
  for (const OptionDifference& difference : differences(table, recorded_options(run), file.string()))
    if (difference.effect == Effect::numbers)
      changes.push_back(fmt::format("{}: {} -> {}", difference.name, difference.other, difference.value));
  return changes;
}

// --- How a run starts ---

RunStart resume(const fs::path& run, std::string notice) {
  return {
      .directory = run, .from = StartFrom::resume, .checkpoints = list_checkpoints(run), .notice = std::move(notice)};
}

// Returns true if the directory exists and `own_lock` has not created it.
bool existed_before(const fs::path& run, const RunLock* own_lock) {
  return path_exists(run) && !(own_lock && own_lock->created(run));
}

// Returns the first of name, name.2, name.3, ... that does not exist.
fs::path free_name(const fs::path& path, const RunLock* own_lock = nullptr) {
  fs::path candidate = path;
  for (int k = 2; existed_before(candidate, own_lock); ++k) candidate = path.string() + "." + std::to_string(k);
  return candidate;
}

// Returns true if the changed option must stay the same within a run.
bool is_fixed(const std::string& change) {
  constexpr const char* kFixed[] = {"task:", "algorithm:", "seed:", "env.physics:"};
  return std::ranges::any_of(kFixed, [&](const char* name) { return change.starts_with(name); });
}

RunStart plan_resume(const fs::path& run, const OptionTable& table) {
  const std::vector<std::string> changes = changed_numbers(run, table);
  for (const std::string& change : changes)
    if (is_fixed(change))
      throw UsageError(
          "cannot resume " + run.string() + " (" + change +
          "; a run keeps its task, algorithm, seed and physics): start another run with --run_name, or give "
          "the run's own options");
  return resume(
      run, "resuming " + run.string() + (changes.empty() ? "" : " with changed options (" + join(changes, ", ") + ")"));
}

RunStart plan_named(const fs::path& run, const OptionTable& table) {
  if (list_checkpoints(run).empty()) return {.directory = run};
  const std::vector<std::string> changes = changed_numbers(run, table);
  if (changes.empty()) return resume(run, "resuming " + run.string() + " (the same options as before)");
  throw UsageError("run " + run.string() + " exists with other options (" + join(changes, ", ") + "): " +
                   (std::ranges::any_of(changes, is_fixed) ? "" : "--resume continues it with the changed options, ") +
                   "--fresh starts again, or give another --run_name");
}

// Returns whether a file is called iter_<number>.h5. A copy that a user made, such as iter_000050-good.h5, is not one
// of the run's checkpoints.
bool is_checkpoint_name(const std::string& name) {
  constexpr std::string_view begin = "iter_", end = ".h5";
  if (name.size() <= begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end)) return false;
  const std::string number = name.substr(begin.size(), name.size() - begin.size() - end.size());
  return number.find_first_not_of("0123456789") == std::string::npos;
}

// Throws UsageError if several tasks have a run of this name.
void require_one(const std::vector<fs::path>& runs, const std::string& name, const std::string& advice) {
  if (runs.size() > 1)
    throw UsageError("several tasks have a run " + name + " (" + runs[0].string() + ", " + runs[1].string() +
                     "): " + advice);
}

RunStart plan_scratch(const fs::path& run, const RunOptions& options) {
  RunStart start{.directory = run};
  if (!options.checkpoint.empty()) {
    start.from = StartFrom::checkpoint;
    start.checkpoints = {find_checkpoint(options.checkpoint, options.runs_dir)};
  } else if (!options.init_from.empty()) {
    start.from = StartFrom::weights;
    start.checkpoints = {find_checkpoint(options.init_from, options.runs_dir)};
  }
  return start;
}

// A job resumes its own run, or starts it again if it has no checkpoint yet. A further srun step of the same job gets
// its own run if its options differ or the steps overlap in time.
RunStart plan_job(const fs::path& first, const RunOptions& options, const OptionTable& table, const RunLock* own_lock) {
  fs::path run = first, busy;
  for (int k = 2; existed_before(run, own_lock); ++k) {
    const bool same = !path_exists(run / "options.ini") ||  // it ended before it wrote any file
                      (changed_numbers(run, table).empty() &&
                       value_or(read_manifest(run), "origin", std::string()) == origin_of(options));
    if (same && ((own_lock && own_lock->holds(run)) || !is_locked(run))) {
      if (list_checkpoints(run).empty()) break;
      return resume(run, "resuming " + run.string() + " (the run of this job, with the same options)");
    }
    if (same && busy.empty() && !list_checkpoints(run).empty()) busy = run;
    run = first.string() + "." + std::to_string(k);
  }
  RunStart start = plan_scratch(run, options);
  start.busy = busy;
  return start;
}

RunStart plan_new(const RunOptions& options, const RunContext& context, const fs::path& folder,
                  const RunLock* own_lock) {
  const bool named = !options.run_name.empty();
  const std::string name = named                     ? options.run_name
                           : !context.job_id.empty() ? "slurm-" + context.job_id
                                                     : context.timestamp;
  const fs::path run = named || options.fresh ? folder / name : free_name(folder / name, own_lock);
  const bool exists = !list_checkpoints(run).empty();
  // A job that is requeued resumes the run that it has started, even with --fresh.
  if (exists && context.continued && has_job(run, context.job_id))
    return resume(run, "resuming " + run.string() + " (this job started it)");
  if (exists && !options.fresh)
    throw UsageError("run " + run.string() +
                     " exists (--checkpoint and --init_from start a new run): give another --run_name, or --fresh");
  RunStart start = plan_scratch(run, options);
  start.move_old_aside = options.fresh && existed_before(run, own_lock);
  return start;
}

// Returns true if the program chooses the run's name, and so may choose another one.
bool has_automatic_name(const RunOptions& options) {
  return options.run_name.empty() && !options.resume && options.load_run.empty() && !options.fresh;
}

bool operator==(const RunStart& a, const RunStart& b) {
  return a.directory == b.directory && a.from == b.from && a.checkpoints == b.checkpoints &&
         a.move_old_aside == b.move_old_aside;
}

}  // namespace

// --- Finding runs and checkpoints ---

std::string recorded_options(const fs::path& run) {
  std::string text = file_text(run / "options.ini");
  if (text.empty())
    throw UsageError("cannot read " + (run / "options.ini").string() +
                     " (it is missing, empty or not readable, so the run cannot be resumed): --checkpoint " +
                     run.string() + " starts a new run from the newest checkpoint");
  return text;
}

std::string checkpoint_name(int64_t iteration) { return fmt::format("iter_{:06}", iteration); }

std::vector<fs::path> list_checkpoints(const fs::path& run) {
  std::vector<fs::path> files = entries_of(run / "checkpoints");
  std::erase_if(files, [](const fs::path& file) { return !is_checkpoint_name(file.filename()); });
  std::ranges::reverse(files);
  // iter_1000000 is longer than iter_999999
  std::ranges::stable_sort(files, std::greater(), [](const fs::path& file) { return file.native().size(); });
  return files;
}

namespace {

// Returns the checkpoints of the newest run in a task's directory that has any.
std::vector<fs::path> newest_checkpoints(const fs::path& task) {
  std::vector<fs::path> newest;
  for (const fs::path& run : entries_of(task)) {
    const std::vector<fs::path> files = run.filename() == kLatest ? std::vector<fs::path>() : list_checkpoints(run);
    std::error_code gone;
    if (!files.empty() &&
        (newest.empty() || fs::last_write_time(files.front(), gone) > fs::last_write_time(newest.front(), gone)))
      newest = files;
  }
  return newest;
}

}  // namespace

fs::path find_checkpoint(const fs::path& given, const std::string& runs_dir) {
  fs::path path = in_runs_folder(given, runs_dir);
  if (!path_exists(path)) path = run_of(path);
  if (!path_exists(path) && given.parent_path() == "pretrained") return pretrained_file(given.filename());
  if (!path_exists(path) && !given.has_parent_path()) {
    std::vector<fs::path> runs = runs_of_all_tasks(runs_folder(runs_dir), given.string());
    std::erase_if(runs, [](const fs::path& run) { return list_checkpoints(run).empty(); });
    require_one(runs, given.string(), "give the run's path");
    if (!runs.empty()) path = runs.front();
  }
  if (!path_exists(path))
    throw UsageError(path.string() +
                     " does not exist (it should be a checkpoint file or a run directory): check the path");
  if (!is_folder(path)) return path;
  std::vector<fs::path> files = list_checkpoints(path);
  for (const fs::path& run : {path, path / kLatest})
    if (files.empty()) files = list_checkpoints(run_of(run));
  if (files.empty()) files = list_checkpoints((path / "..").lexically_normal());  // path: RUN/checkpoints
  // The newest run may have ended before its first checkpoint.
  const bool is_latest = (path.has_filename() ? path : path.parent_path()).filename() == kLatest;
  if (files.empty()) files = newest_checkpoints(is_latest ? (path / "..").lexically_normal() : path);
  if (files.empty())
    throw UsageError("run " + path.string() + " has no checkpoint yet: give another run or a checkpoint file");
  return files.front();
}

RecordedRun recorded_run(const fs::path& run) {
  const nlohmann::json manifest = read_manifest(run);
  const auto text = [&](const char* name) { return value_or(manifest, name, std::string()); };
  return {text("task"), text("task_library"), text("status")};
}

std::optional<fs::path> run_to_resume(const RunOptions& options, const RunContext& context) {
  check_exclusive(options);
  if (!options.resume && options.load_run.empty()) return std::nullopt;
  const fs::path folder = runs_of_task(options, context);
  const std::string name = !options.load_run.empty() ? options.load_run : options.run_name;
  if (!name.empty() && options.load_run.empty()) check_run_name("run_name", name);
  const std::string in_folder = name.empty() ? kLatest : name;
  const bool is_plain = in_folder.find('/') == std::string::npos;  // a run's name, not a path
  std::vector<fs::path> found;
  if (is_plain && context.task.empty()) found = runs_of_all_tasks(folder, in_folder);
  if (!context.task.empty() && is_folder(run_of(folder / in_folder))) found = {folder / in_folder};
  if (found.empty() && !options.load_run.empty()) {
    const fs::path run = in_runs_folder(name, options.runs_dir);
    found = {is_folder(run_of(run / kLatest)) ? run / kLatest : run};
  }
  for (fs::path& run : found) run = run_of(run);
  const auto existing = std::ranges::find_if(found, is_folder);
  const fs::path looked_at = existing != found.end() ? *existing : folder / in_folder;
  std::erase_if(found, [](const fs::path& run) { return list_checkpoints(run).empty(); });
  if (found.empty())
    throw UsageError("no run can be resumed (" + looked_at.string() +
                     (is_folder(looked_at) ? " has no checkpoint): " : " does not exist): ") +
                     (options.load_run.empty() ? "give a run with --load_run, or leave --resume out"
                                               : "give a run's name or directory, or leave --load_run out"));
  const auto last_saved = [](const fs::path& run) { return fs::last_write_time(list_checkpoints(run).front()); };
  if (!name.empty()) require_one(found, name, "give --task, or the run's path");
  return *std::ranges::max_element(found, {}, last_saved);
}

std::string origin_of(const RunOptions& options) {
  return !options.checkpoint.empty() ? options.checkpoint : options.init_from;
}

RunStart plan_run(const RunRequest& request, const RunLock* own_lock) {
  const auto& [options, table, context] = request;
  if (!options.run_name.empty()) check_run_name("run_name", options.run_name);
  if (const std::optional<fs::path> run = run_to_resume(options, context)) return plan_resume(*run, table);
  const fs::path folder = runs_of_task(options, context);
  if (options.run_name.empty() && !options.fresh && !context.job_id.empty())
    return plan_job(folder / ("slurm-" + context.job_id), options, table, own_lock);
  if (options.run_name.empty() || options.fresh || !origin_of(options).empty())
    return plan_new(options, context, folder, own_lock);
  return plan_named(folder / options.run_name, table);
}

// --- Claiming a run ---

namespace {

constexpr int kTries = 10000;  // a process tries again only if another one has claimed or left a run meanwhile

// SIGUSR1 and the like still mean that the run should save once before it ends, so they do not end the claim.
void require_no_stop(const fs::path& run) {
  const Stop stop = requested_stop();
  if (stop >= Stop::interrupted)
    throw Error("stopped by " + std::string(name_of(stop)) + " before the training began (drl_train was claiming " +
                    run.string() + "): start it again",
                exit_code_of(stop));
}

// Waits until no process holds the lock, up to two minutes. A requeued job may find its run still locked when the node
// it ran on was cut off and the file server has not yet noticed.
void wait_until_free(const fs::path& run) {
  constexpr int patience = 120;  // seconds
  if (is_locked(run))
    log::info(
        "waiting up to {} s for {}, which another process still holds: the node that the job had before may be cut off",
        patience, run.string());
  for (int seconds = 0; is_locked(run); ++seconds) {
    if (seconds == patience) refuse_in_use(run);
    require_no_stop(run);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

void require_writable(const fs::path& run) {
  std::error_code error;
  fs::path there = fs::absolute(run, error);
  while (!fs::exists(there, error) && there != there.root_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) cannot_write(run, reason_of(ENOTDIR));
  if (access(there.c_str(), W_OK | X_OK) != 0) cannot_write(run, reason_of(errno));
}

// Another process may have started or even ended the same run between plan and lock. Therefore the plan is made again
// under the lock, and must not have changed.
RunStart claim_run(const RunRequest& request) {
  const auto& [options, table, context] = request;
  RunStart start;
  for (int tries = 0; tries < kTries; ++tries) {
    start = plan_run(request);
    require_no_stop(start.directory);
    if (context.continued && !start.busy.empty()) {
      wait_until_free(start.busy);
      continue;
    }
    const bool timestamp = has_automatic_name(options) && context.job_id.empty();
    std::shared_ptr<RunLock> lock = RunLock::take(start.directory, timestamp);
    if (!lock && !has_automatic_name(options)) {
      if (!context.continued) refuse_in_use(start.directory);
      wait_until_free(start.directory);
    }
    if (!lock || !(plan_run(request, lock.get()) == start)) continue;
    start.lock = std::move(lock);
    return start;
  }
  throw Error("cannot claim the run directory " + start.directory.string() +
              " (other processes changed it during each of " + std::to_string(kTries) +
              " tries): start again, or give another --run_name");
}

// --- The directory of a run in progress ---

RunDirectory::RunDirectory(const RunStart& start) : path_(start.directory), lock_(start.lock) {
  if (!lock_) lock_ = RunLock::take(path_);
  if (!lock_) refuse_in_use(path_);
  if (start.move_old_aside) {
    fs::rename(path_, free_name(path_.string() + ".old"));
    lock_ = RunLock::take(path_);
    if (!lock_) refuse_in_use(path_);
  }
  lock_->keep();
  if (!lock_->why_no_locks().empty())
    log::info("{} is on a file system without locks ({}): using a lock file instead, updated every {:g} s",
              path_.string(), lock_->why_no_locks(), kHeartbeat);
  std::error_code error;
  fs::create_directories(path_ / "checkpoints", error);
  if (!error) fs::create_directories(path_ / "logs", error);
  if (error) cannot_write(path_, reason_of(error.value()));
  if (start.from == StartFrom::resume)
    for (const fs::path& file : start.damaged) fs::rename(file, file.string() + ".damaged", error);
  update_latest(path_);
}

bool RunDirectory::exists() const {
  struct stat status;
  return stat(path_.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);  // else a failure may pass
}

void RunDirectory::require_usable() const {
  if (!exists())
    throw Error("the run directory " + path_.string() +
                " is gone (it was removed or renamed during the run): nothing more can be saved there, so restore it "
                "and resume the run, or start again");
  if (!is_mine())
    throw Error("another process has taken over run " + path_.string() +
                " (this process did not update its lock file for " +
                counted(static_cast<int64_t>(kHeartbeatLimit) / 60, "minute") +
                ", probably because it was suspended): let the other process continue, or stop it and resume the run");
}

fs::path RunDirectory::checkpoint(int64_t iteration) const {
  return path_ / "checkpoints" / (checkpoint_name(iteration) + ".h5");
}

void RunDirectory::mark_best(int64_t iteration) const {
  const fs::path link = path_ / "checkpoints" / "best.h5", temporary = path_ / "checkpoints" / ".best";
  fs::remove(temporary);
  std::error_code no_links;  // of exFAT, and of some network shares
  fs::create_symlink(checkpoint(iteration).filename(), temporary, no_links);
  if (no_links) fs::copy_file(checkpoint(iteration), temporary);
  fs::rename(temporary, link);
}

void RunDirectory::prune(int keep, const std::vector<fs::path>& needed) const {
  std::error_code error;
  const fs::path best = fs::read_symlink(path_ / "checkpoints" / "best.h5", error);
  const std::vector<fs::path> files = list_checkpoints(path_);
  for (size_t k = static_cast<size_t>(keep); k < files.size(); ++k)
    if (files[k].filename() != best &&
        !std::ranges::any_of(needed, [&](const fs::path& path) { return path.filename() == files[k].filename(); }))
      fs::remove(files[k], error);
}

bool RunDirectory::take_stop_request() const {
  std::error_code error;
  return fs::remove(path_ / "STOP", error) && !error;
}

}  // namespace drl

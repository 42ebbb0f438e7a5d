// drl_sweep: searches for good options of a training.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/presets.hpp"
#include "apps/program.hpp"
#include "apps/settings.hpp"
#include "apps/sweep_plan.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/ini.hpp"
#include "base/json_value.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "base/version.hpp"
#include "launch/child.hpp"
#include "placement/relaunch.hpp"
#include "placement/stop.hpp"
#include "report/format.hpp"
#include "report/page/run_record.hpp"
#include "report/page/sweep_page.hpp"
#include "run/run_directory.hpp"
#include "run/run_lock.hpp"
#include "store/file.hpp"
#include "sweep/search.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kUsage[] =
    "drl_sweep: searches for good options of a training, on this machine or on the\n"
    "nodes of a Slurm job. Further options of drl_train follow after --.\n"
    "\n"
    "  drl_sweep --task Ant-v5 --space space.ini --trials 64 --method asha\n"
    "  drl_sweep --task Ant-v5 --space space.ini -- --num_envs 64 --seed 3\n"
    "  sbatch -N4 --exclusive --no-kill --wrap 'drl_sweep ...'\n"
    "\n"
    "space.ini has the sections and names of drl_train's option files:\n"
    "\n"
    "  [%s]\n"
    "  learning_rate = log 1e-4 1e-2      uniform on a logarithmic scale\n"
    "  entropy_coef = uniform 0 0.01\n"
    "  num_learning_epochs = int 2 8      both ends included\n"
    "  num_mini_batches = choose 2 4 8    one of these\n"
    "\n"
    "Trial 12 is the run runs/NAME/TASK/trial_012. Repeat the command to go on after\n"
    "an interruption; no trial runs twice. Results: a table, and in runs/NAME\n"
    "sweep.csv, sweep.html, and best.ini (for drl_train --config).\n"
    "\n"
    "Exit codes: 0 done; 1 no trial has an objective; 2 wrong usage; 75, 130, 143\n"
    "stopped, and can go on.\n"
    "\n";

constexpr const char* kDrlTrain = "drl_train";
constexpr double kCheckPatience = 120;  // seconds
constexpr double kPatience = 1000;     // seconds until the lock of a process that has ended is free (run/lock_file.hpp)
constexpr double kLookInterval = 0.5;  // seconds between two looks at such a lock
constexpr double kWriteInterval = 10;  // seconds between two versions of the results
constexpr size_t kShown = 10;          // trials in the table at the end

// A job whose run still belongs to the process of a drl_sweep that was killed, or of a node that does not answer.
struct HeldJob {
  Job job;
  double since = 0, next_look = 0;  // steady_seconds()
};

// A trial that is training.
struct Child {
  Job job;
  size_t slot = 0;
};

class Sweep {
 public:
  Sweep(SweepOptions options, std::vector<std::string> training)
      : options_(std::move(options)),
        training_(std::move(training)),
        plan_(make_sweep_plan(options_, training_)),
        folder_(runs_folder(options_.runs_dir) / options_.name),
        program_((fs::read_symlink("/proc/self/exe").parent_path() / kDrlTrain).string()) {
    if (options_.name.empty() || options_.name.find('/') != std::string::npos || options_.name.starts_with('.'))
      throw UsageError("--name " + shown(options_.name) + " cannot be the name of a directory: give a plain name");
    options_.trials = static_cast<int>(plan_.points.size());
    slots_ = trial_places(options_, options_.trials);
    check_first_trial();
    lock_ = RunLock::take(folder_);
    if (!lock_)
      throw UsageError("the sweep " + folder_.string() +
                       " is in use by another process: wait for its end, or give another --name");
    lock_->keep();
    open_journal();
    search_ = make_search();
  }

  // Returns the exit code. If it throws, the trials have saved and ended.
  int run() {
    try {
      return search_all();
    } catch (...) {
      note_stop(Stop::terminated);
      pass_on_stop();
      for (const auto& [pid, child] : children_) waitpid(pid, nullptr, 0);
      throw;
    }
  }

 private:
  int search_all() {
    std::printf("%s: %s in %s, %s at a time\n", plan_.task.c_str(), facts().c_str(), folder_.c_str(),
                counted(std::ssize(slots_), "trial").c_str());
    std::fflush(stdout);
    for (;;) {
      if (!is_checked_) check_objective();
      take_ends();
      if (requested_stop() != Stop::none)
        pass_on_stop();
      else
        start_jobs();
      if (children_.empty() && (held_.empty() || requested_stop() != Stop::none)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    write_results();
    if (const Stop stop = requested_stop(); stop != Stop::none) {
      std::printf("stopped: repeat the command to go on\n");
      return exit_code_of(stop);
    }
    const SweepTable results = table();
    std::printf("%s%s: sweep.csv, sweep.html, best.ini\n", sweep_text(results, kShown).c_str(), folder_.c_str());
    if (!results.rows.empty() && !std::isnan(results.rows.front().objective)) return kDone;
    log::error("no trial has a {}: see the files in {}", options_.objective, (folder_ / "logs").string());
    return kFailure;
  }

  // --- The search ---

  std::unique_ptr<Search> make_search() const {
    const int most = plan_.max_iterations;
    if (options_.method == "pbt") {
      PopulationRule rule{
          .space = plan_.space, .ends = {}, .factor = options_.perturb, .seed = static_cast<uint64_t>(options_.seed)};
      const int interval = options_.interval > 0 ? options_.interval : std::max(most / 10, 1);
      for (int end = interval; end < most; end += interval) rule.ends.push_back(end);
      rule.ends.push_back(most);
      return make_population(std::move(rule), plan_.points);
    }
    const std::vector<int> rungs = options_.method == "asha"
                                       ? asha_rungs(most, options_.trials, options_.eta, options_.min_iterations)
                                       : std::vector{most};
    return make_ladder(plan_.points, rungs, options_.eta,
                       {[this](const std::string& run, int iterations) { return outcome(run, iterations); },
                        [this](const std::string& run) { return target_of(run); }});
  }

  fs::path path_of(const std::string& run) const { return folder_ / plan_.task / run; }

  int target_of(const std::string& run) const {
    const std::string text = file_text(path_of(run) / kOptionsIni);
    for (const IniEntry& entry : parse_ini(text, kOptionsIni))
      if (entry.section.empty() && entry.key == "max_iterations") return number_in<int>(entry.value).value_or(0);
    return 0;
  }

  int newest_checkpoint(const std::string& run) const {
    const std::vector<fs::path> saved = list_checkpoints(path_of(run));
    return saved.empty() ? -1 : number_in<int>(saved.front().stem().string().substr(5)).value_or(-1);  // after iter_
  }

  // Returns the objective of a run after these iterations, where larger is better; nullopt if the run has not saved
  // them, kWorst if it has failed, kUnknown if it has no objective.
  std::optional<double> outcome(const std::string& run, int iterations) const {
    const auto otherwise = failed_.contains(run) ? std::optional(kWorst) : std::nullopt;
    if (newest_checkpoint(run) < iterations) return otherwise;
    const fs::path file = path_of(run) / "metrics.csv";
    std::error_code error;
    if (!fs::exists(file, error)) return otherwise;
    MetricsTable metrics;
    try {
      metrics = parse_metrics(read_text(file), file.string());
    } catch (const Error& unreadable) {
      log::warn("{} counts as failed ({})", run, unreadable.what());
      return kWorst;
    }
    const std::vector<double>* values = metrics.find(options_.objective);
    const auto row = std::ranges::find(metrics.iterations, iterations) - metrics.iterations.begin();
    if (!values || row == std::ssize(metrics.iterations)) return otherwise;
    const double value = (*values)[static_cast<size_t>(row)];
    return std::isnan(value) ? kUnknown : options_.minimize ? -value : value;
  }

  // Throws UsageError once a trial has written metrics without the objective. The sweep's settings are then forgotten.
  void check_objective() {
    for (const auto& [pid, child] : children_) {
      const std::string text = file_text(path_of(child.job.run) / "metrics.csv");
      if (text.find('\n') == std::string::npos) continue;
      is_checked_ = true;
      const std::vector<std::string> columns = split(text.substr(0, text.find('\n')), ',');
      if (contains(columns, options_.objective)) return;
      fs::remove(journal_file());
      throw UsageError(fmt::format("--objective {} is no column of metrics.csv: give one of {}", options_.objective,
                                   join(columns, ", ")));
    }
  }

  // --- The journal: a line of the settings, and one for each trial that failed ---

  Json settings() const {
    return {{"task", plan_.task},
            {"space", plan_.space_text},
            {"training", shell_line(training_)},
            {"method", options_.method},
            {"trials", options_.trials},
            {"grid_points", options_.grid_points},
            {"ranks_per_trial", options_.ranks_per_trial},
            {"max_iterations", plan_.max_iterations},
            {"eta", options_.eta},
            {"min_iterations", options_.min_iterations},
            {"interval", options_.interval},
            {"perturb", options_.perturb},
            {"objective", options_.objective},
            {"minimize", options_.minimize},
            {"seed", options_.seed}};
  }

  fs::path journal_file() const { return folder_ / "journal.jsonl"; }

  void open_journal() {
    const fs::path path = journal_file();
    std::error_code error;
    if (!fs::exists(path, error)) write_file_atomically(path, bytes_of(settings().dump() + "\n"));
    const std::vector<std::string> lines = split(read_text(path), '\n');
    const Json before = Json::parse(lines.front(), nullptr, /*allow_exceptions=*/false), now = settings();
    for (const auto& [name, value] : now.items())
      if (const Json old = value_or(before, name.c_str(), Json()); old != value)
        throw UsageError(fmt::format("{} is a sweep with another {} ({} instead of {}): give another --name",
                                     folder_.string(), name, printable(old.dump(), 200), printable(value.dump(), 200)));
    for (size_t k = 1; k < lines.size(); ++k)
      if (const Json line = Json::parse(lines[k], nullptr, false); line.is_object())
        failed_[value_or(line, "failed", std::string())] = value_or(line, "cause", std::string());
    journal_.emplace(path, AppendFile::Start::append);
    fs::create_directories(folder_ / "logs");
  }

  void note_failure(const std::string& run, const std::string& cause) {
    failed_[run] = cause;
    journal_->append(Json{{"failed", run}, {"cause", cause}}.dump(-1, ' ', false, Json::error_handler_t::replace) +
                     "\n");
    journal_->sync();
  }

  // --- Processes ---

  std::vector<std::string> options_of(const Values& point) const {
    std::vector<std::string> words = {program_};
    words.insert(words.end(), training_.begin(), training_.end());
    for (size_t k = 0; k < point.size(); ++k) words.push_back(fmt::format("--{}={}", plan_.space[k].name, point[k]));
    words.push_back("--quiet");
    return words;
  }

  // Finds what only drl_train itself can check, such as batches that cannot be divided.
  void check_first_trial() const {
    std::vector<std::string> words = options_of(plan_.points.front());
    words.insert(words.end(), {"--check", "--runs_dir=" + folder_.string()});
    BackgroundCommand check(words);
    const std::optional<int> code = check.wait(kCheckPatience);
    if (code == kDone) return;
    std::string text = code ? std::string(trim(check.output())) : fmt::format("no answer in {} s", kCheckPatience);
    text.erase(0, text.find_last_of('\n') + 1);
    if (constexpr std::string_view kMark = "error: "; text.starts_with(kMark)) text.erase(0, kMark.size());
    throw UsageError("the first trial (" + join(plan_.points.front(), ", ") + ") cannot start: " + text);
  }

  // Keeps the checkpoints from which runs of this generation begin, before their own runs delete them.
  void keep_parents() const {
    for (const Job& job : search_->forks()) {
      const fs::path kept = kept_parent(job);
      std::error_code error;
      if (fs::exists(kept, error) || newest_checkpoint(job.run) >= 0) continue;
      const std::string name = checkpoint_name(job.from) + ".";
      const fs::path temporary = kept.string() + ".new";
      fs::remove_all(temporary);
      fs::create_directories(temporary);
      for (const fs::path& file : entries_of(path_of(job.parent) / "checkpoints"))
        if (file.filename().string().starts_with(name)) {  // with the files of a replay buffer
          fs::create_hard_link(file, temporary / file.filename(), error);
          if (error) fs::copy_file(file, temporary / file.filename());
        }
      fs::rename(temporary, kept);
    }
  }
  fs::path kept_parent(const Job& job) const { return folder_ / "parents" / job.run; }

  void start_jobs() {
    for (size_t slot = 0; slot < slots_.size(); ++slot)
      while (!slots_[slot].busy && requested_stop() == Stop::none) {
        const std::optional<Job> job = next_job();
        if (!job) return;
        keep_parents();
        if (const auto known = outcome(job->run, job->iterations))
          search_->end(*job, *known);
        else
          start(*job, slot);
      }
  }

  // Returns the next job: one that died, or that was held up, or a new one.
  std::optional<Job> next_job() {
    const double now = steady_seconds();
    for (auto held = held_.begin(); held != held_.end(); ++held) {
      if (now < held->next_look) continue;
      held->next_look = now + kLookInterval;
      if (!is_locked(path_of(held->job.run))) {
        again_.push_back(held->job);
        held_.erase(held);
        break;
      }
      if (now - held->since > kPatience)
        throw Error("the run " + path_of(held->job.run).string() +
                    " is in use by another process: end that process, and repeat the command");
    }
    if (again_.empty()) return search_->next();
    const Job job = again_.back();
    again_.pop_back();
    return job;
  }

  void start(const Job& job, size_t slot) {
    if (is_locked(path_of(job.run))) {
      log::info("{} waits until its earlier process has saved and ended", job.run);
      return held_.push_back({job, steady_seconds(), steady_seconds()});
    }
    const bool is_new = newest_checkpoint(job.run) < 0;
    std::vector<std::string> words = options_of(job.point);
    if (is_new && job.from > 0)
      words.push_back("--checkpoint=" + (kept_parent(job) / (checkpoint_name(job.from) + ".h5")).string());
    words.push_back(fmt::format("--max_iterations={}", job.iterations));
    words.push_back("--runs_dir=" + folder_.string());
    words.push_back("--run_name=" + job.run);
    words.push_back(fmt::format("--ranks={}", options_.ranks_per_trial));
    const std::string& node = slots_[slot].node;
    if (!node.empty()) words = step_command({node, options_.ranks_per_trial, slots_[slot].steps}, words);
    const Descriptor log(open(log_of(job).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    ChildSettings settings{.environment = node.empty() ? without_launchers(environment_list()) : step_environment(),
                           .own_group = true,
                           .output = log};
    sigprocmask(SIG_SETMASK, nullptr, &settings.signal_mask);
    const pid_t pid = spawn(words, settings);
    if (pid < 0) throw Error("cannot start " + words.front() + ": see whether it is installed");
    children_[pid] = {job, slot};
    slots_[slot].busy = true;
  }

  fs::path log_of(const Job& job) const { return folder_ / "logs" / (job.run + ".log"); }

  void take_ends() {
    for (auto child = children_.begin(); child != children_.end();) {
      int status = 0;
      if (waitpid(child->first, &status, WNOHANG) != child->first) {
        ++child;
        continue;
      }
      const Child ended = child->second;
      child = children_.erase(child);
      slots_[ended.slot].busy = false;
      take_end(ended, shell_code(status));
    }
  }

  void take_end(const Child& child, int code) {
    const Job& job = child.job;
    if (const auto objective = outcome(job.run, job.iterations)) return take_objective(job, *objective);
    if (requested_stop() != Stop::none) return;
    if (code == kContinue) return note_stop(Stop::to_be_continued);  // the job's time is over
    const std::string& node = slots_[child.slot].node;
    if (!node.empty() && !contains(lost_nodes_, node) && answering_nodes({node}).empty()) lost_nodes_.push_back(node);
    if (contains(lost_nodes_, node)) {
      log::warn("node {} does not answer: {} goes on elsewhere", node, job.run);
      for (TrialPlace& slot : slots_) slot.busy = slot.busy || slot.node == node;
      if (std::ranges::all_of(slots_, [&](const TrialPlace& slot) { return contains(lost_nodes_, slot.node); }))
        throw Error("no node of the job answers: repeat the command in another job");
      return again_.push_back(job);
    }
    const int saved = newest_checkpoint(job.run);
    const bool again = code != ExitCode::kUsage && (!last_death_.contains(job.run) || last_death_[job.run] != saved);
    last_death_[job.run] = saved;
    const std::string text = file_text(log_of(job));
    const std::string_view lines = trim(text);
    const std::string cause =
        fmt::format("exit code {}: {}", code, printable(lines.substr(lines.find_last_of('\n') + 1), 300));
    log::warn("{} {} ({})", job.run, again ? "died and starts again" : "failed", cause);
    if (again) return again_.push_back(job);
    note_failure(job.run, cause);
    take_objective(job, kWorst);
  }

  void take_objective(const Job& job, double objective) {
    search_->end(job, objective);
    if (objective == kUnknown && !std::exchange(warned_, true))
      log::warn("{} has no {} after {} (no episode has ended), so trials cannot be compared: use a larger {}", job.run,
                options_.objective, counted(job.iterations, "iteration"),
                options_.method == "asha"  ? "--min_iterations"
                : options_.method == "pbt" ? "--interval"
                                           : "--max_iterations");
    if (job.from > 0) fs::remove_all(kept_parent(job));  // the run has checkpoints of its own now
    const SweepTable now = table();
    std::printf("%s  %d iterations  %s %s  (best %s %s; %s)\n", job.run.c_str(), job.iterations,
                options_.objective.c_str(), human_number(shown_objective(objective)).c_str(),
                now.rows.front().run.c_str(), human_number(now.rows.front().objective).c_str(),
                counted(std::ssize(now.rows), "trial").c_str());
    std::fflush(stdout);
    if (steady_seconds() - written_ > kWriteInterval) write_results();
  }

  // Passes a request to stop on to the trials, which save. srun only forwards SIGUSR1 and SIGUSR2.
  void pass_on_stop() {
    const Stop stop = requested_stop();
    if (stop == passed_on_) return;
    passed_on_ = stop;
    for (const auto& [pid, child] : children_)
      kill(pid, !slots_[child.slot].node.empty() ? signal_through_srun(stop)
                : stop == Stop::interrupted      ? SIGINT
                : stop == Stop::terminated       ? SIGTERM
                                                 : SIGUSR1);
  }

  // --- Results ---

  double shown_objective(double objective) const {
    return objective <= kUnknown ? NAN : options_.minimize ? -objective : objective;
  }

  std::string facts() const { return fmt::format("{}, {}", options_.method, counted(options_.trials, "trial")); }

  SweepTable table() const {
    SweepTable table{.title = plan_.task + ", " + options_.name, .objective = options_.objective, .facts = facts()};
    for (const Dimension& d : plan_.space)
      table.axes.push_back({.name = d.name,
                            .is_log = d.scale == Scale::log,
                            .is_whole = d.scale == Scale::integer,
                            .low = d.low,
                            .high = d.high,
                            .choices = d.choices});
    for (const Result& result : search_->results())
      table.rows.push_back({.run = result.job.run,
                            .iterations = result.job.iterations,
                            .objective = shown_objective(result.objective),
                            .values = result.job.point,
                            .note = failed_.contains(result.job.run) ? "failed" : ""});
    return table;
  }

  void write_results() {
    written_ = steady_seconds();
    const SweepTable results = table();
    if (results.rows.empty()) return;
    const auto write = [&](const char* name, const std::string& text) {
      write_file_atomically(folder_ / name, bytes_of(text));
    };
    write("sweep.csv", sweep_csv(results)), write("sweep.html", sweep_page(results));
    const SweepRow& best = results.rows.front();
    if (std::isnan(best.objective)) return;
    write("best.ini", fmt::format("# The options of {}: {} {} after {} iterations.\n", best.run, results.objective,
                                  human_number(best.objective), best.iterations) +
                          recorded_options(path_of(best.run)));
  }

  SweepOptions options_;
  std::vector<std::string> training_;
  SweepPlan plan_;
  fs::path folder_;
  std::string program_;
  std::vector<TrialPlace> slots_;
  std::unique_ptr<RunLock> lock_;
  std::optional<AppendFile> journal_;
  std::map<std::string, std::string> failed_;  // runs, and why
  std::unique_ptr<Search> search_;
  std::map<pid_t, Child> children_;
  std::vector<HeldJob> held_;
  std::vector<Job> again_;                 // that died
  std::map<std::string, int> last_death_;  // the newest checkpoint of a run when it last died
  std::vector<std::string> lost_nodes_;
  Stop passed_on_ = Stop::none;
  bool warned_ = false;      // of objectives that are unknown
  bool is_checked_ = false;  // the objective is a column of metrics.csv
  double written_ = 0;
};

int run(const std::vector<std::string>& words) {
  catch_stop_signals();
  SweepOptions options;
  OptionTable table;
  table.section("", "Options", options);
  const auto separator = std::ranges::find(words, "--");
  table.apply_command_line({words.begin() + 1, separator});
  if (std::exchange(options.help, false))
    return std::printf(kUsage, algorithm_names().front().c_str()), std::printf("%s", table.help().c_str()), kDone;
  if (options.version) return std::printf("drl_sweep %s (%s)\n", kVersion, kGitHash), kDone;
  std::vector<std::string> training(separator == words.end() ? separator : separator + 1, words.end());
  if (!options.task.empty()) {
    require_absent(training, {"task"}, "--task stands before -- too");
    training.insert(training.begin(), "--task=" + options.task);
  }
  if (training.empty()) throw UsageError("--task is missing (it says what to train): add for instance --task Cartpole");
  Sweep sweep(std::move(options), std::move(training));
  take_stops_as_requests();
  return sweep.run();
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }

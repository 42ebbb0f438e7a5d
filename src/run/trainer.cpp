#include "run/trainer.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/task_libraries.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

constexpr Stop kStops[] = {Stop::time_limit, Stop::to_be_continued, Stop::passed_on, Stop::interrupted,
                           Stop::terminated};  // the first is the weakest

bool are_equal(std::span<const double> all) {
  return std::ranges::adjacent_find(all, std::not_equal_to()) == all.end();
}

}  // namespace

Trainer::Sums::Sums(Slots& slots, size_t ranks)
    : stops(slots.add(std::size(kStops))),
      save(slots.add(1)),
      fingerprints(slots.add(ranks)),
      collection(slots.add(ranks)),
      waiting(slots.add(ranks)) {}

Trainer::Trainer(const TrainOptions& train, const RunOptions& run, Algorithm& algorithm, const TaskSpec& task,
                 Communicator& comm, Evaluation evaluate, Gate gate)
    : train_(train),
      run_(run),
      algorithm_(algorithm),
      task_(task),
      comm_(comm),
      evaluate_(std::move(evaluate)),
      gate_(std::move(gate)),
      window_(task.reward_terms.size(), task.metrics.size(), task.ends.size()),
      sums_(algorithm.slots(), static_cast<size_t>(comm.size())),
      start_(steady_seconds()) {
  state_ = list_state([this](StateVisitor& visitor) {
    visitor.scalar("trainer/iteration", iteration_);
    visitor.scalar("trainer/env_steps", env_steps_);
    window_.visit_state(visitor);
    algorithm_.visit_state(visitor);
  });
  std::ranges::copy_if(state_, std::back_inserter(host_state_), [](const StateField& field) { return !field.queue; });
}

void Trainer::state_loaded(double elapsed) {
  elapsed_before_ = elapsed;
  algorithm_.state_changed();
}

void Trainer::measure_energy(std::function<std::optional<GpuEnergy>()> read) {
  read_energy_ = std::move(read);
  energy_ = read_energy_();
}

int Trainer::run(RunMonitor* monitor) {
  start_ = last_save_ = steady_seconds();
  try_gate_if_due(monitor);  // a checkpoint does not tell whether its policy has passed
  if (finished()) return end_at_once(monitor);
  while (!finished()) {
    iterate(monitor);
    if (monitor) monitor->iteration(metrics());
    try_gate_if_due(monitor);
    save_if_due(monitor);
  }
  return finish(monitor);
}

bool Trainer::finished() const { return stop_ != Stop::none || !why_done().empty(); }

std::string Trainer::why_done() const {
  return passed_gate_                          ? "gate passed"
         : target_reached()                    ? "target reached"
         : iteration_ >= train_.max_iterations ? "done"
                                               : "";
}

bool Trainer::target_reached() const {
  // The first episodes to end are short ones, so the mean only counts once there are enough episodes.
  return train_.target_reward && window_.episodes() >= RewardWindow::kEpisodes &&
         window_.mean_reward() >= *train_.target_reward;
}

void Trainer::try_gate_if_due(RunMonitor* monitor) {
  if (!train_.gate || iteration_ == 0 || iteration_ % train_.gate_interval != 0) return;
  const GateResult result = gate_();
  uint8_t passed = result.passed;
  if (monitor)
    monitor->message(fmt::format("gate {} at iteration {}, {} steps, {:.1f} s: {}", passed ? "passed" : "not passed",
                                 iteration_, human_number(static_cast<double>(env_steps_)), elapsed(), result.text()));
  comm_.broadcast(std::as_writable_bytes(std::span(&passed, 1)), 0);
  passed_gate_ = passed != 0;
}

std::string Trainer::nothing_to_do() const {
  return "nothing to do: the run is" + progress_text() + "; to continue it, " +
         (passed_gate_
              ? "leave --gate out"
              : std::string("give a larger --max_iterations") + (target_reached() ? " and --target_reward none" : ""));
}

int Trainer::end_at_once(RunMonitor* monitor) const {
  if (!monitor) return kDone;
  monitor->message(nothing_to_do());
  monitor->finish(progress(), why_done());
  return kDone;
}

void Trainer::iterate(RunMonitor* monitor) {
  const double begin = steady_seconds(), seconds_before = iteration_seconds_;
  wait_before_ = comm_.stats().wait_seconds;
  write_sums(monitor);
  algorithm_.iterate(iteration_, comm_);
  read_sums();
  if (monitor) monitor->waiting(iteration_, seconds_before, algorithm_.slots().sums(sums_.waiting));
  check_replicas();
  iteration_ += 1;
  env_steps_ += algorithm_.env_steps_per_iteration() * comm_.size();
  window_.add(algorithm_.stats().episodes);
  check_lost_environments(monitor != nullptr);
  waiting_ = comm_.stats().wait_seconds - wait_before_;
  iteration_seconds_ = steady_seconds() - begin;
}

void Trainer::write_sums(RunMonitor* monitor) {
  Slots& slots = algorithm_.slots();
  Stop wanted = requested_stop();
  if (monitor) wanted = std::max(wanted, monitor->requested_stop());
  for (size_t k = 0; k < std::size(kStops); ++k) slots.own(sums_.stops)[k] = kStops[k] == wanted;
  slots.own(sums_.save)[0] = monitor && steady_seconds() - last_save_ > run_.save_seconds;
  hashes_ = hash_state(host_state_);
  const auto rank = static_cast<size_t>(comm_.rank());
  slots.own(sums_.fingerprints)[rank] = fingerprint(hashes_);
  slots.own(sums_.collection)[rank] = algorithm_.stats().collection_time;
  slots.own(sums_.waiting)[rank] = waiting_;
}

void Trainer::read_sums() {
  const Slots& slots = algorithm_.slots();
  for (size_t k = 0; k < std::size(kStops); ++k)
    if (slots.sums(sums_.stops)[k] > 0) stop_ = kStops[k];
  save_requested_ = slots.sums(sums_.save)[0] > 0;
  slowest_collection_ = std::max(algorithm_.stats().collection_time, std::ranges::max(slots.sums(sums_.collection)));
}

// The count is a sum over all ranks, so all ranks decide alike.
void Trainer::check_lost_environments(bool is_reporting) {
  const double lost = algorithm_.stats().episodes.lost;
  if (lost == 0) return;
  const std::string what =
      fmt::format("iteration {}: {} ended because the state, an observation or the reward was not finite", iteration_,
                  counted(static_cast<int64_t>(lost), "episode"));
  if (train_.nan_policy == "stop")
    throw SharedError(what +
                      " (--nan_policy stop): find the step with --nan_policy dump, or go on with --nan_policy reset");
  if (is_reporting)
    log::warn("{}; these environments were reset{}", what,
              train_.nan_policy == "dump" ? "" : ": --nan_policy dump shows the steps (docs/howto/evaluate.md)");
}

// All ranks see all fingerprints, so they decide alike.
void Trainer::check_replicas() {
  const Slots& slots = algorithm_.slots();
  if (are_equal(slots.fingerprints()) && are_equal(slots.sums(sums_.fingerprints))) return;
  // Compares the state at the beginning of the iteration: fields that diverged may be equal again at its end.
  StateHashes all;
  const std::vector<uint64_t> on_queue = slots.field_fingerprints();
  auto of_queue = on_queue.begin();
  auto of_host = hashes_.begin();
  for (const StateField& field : state_)
    if (field.sharding == Sharding::replicated) all.push_back(field.queue ? *of_queue++ : *of_host++);
  throw_divergence(all);
}

// Compares the replicas before a save, because no all-reduce has compared the result of the last update yet.
void Trainer::check_replicas_now() {
  const StateHashes hashes = hash_state(state_);
  const double mine = fingerprint(hashes);
  uint8_t equal = are_equal(gather_values(comm_, mine));
  comm_.broadcast(std::as_writable_bytes(std::span(&equal, 1)), 0);
  if (!equal) throw_divergence(hashes);
}

void Trainer::throw_divergence(const StateHashes& mine) {
  const std::string where = describe_divergence(state_, mine, comm_);
  throw SharedError(fmt::format(
      "the ranks' states differ at iteration {} ({}): this is caused by faulty hardware or mixed libraries; resume "
      "from the last checkpoint without the hosts of these ranks",
      iteration_, where.empty() ? "between the shards of a rank" : where));
}

IterationMetrics Trainer::metrics() const {
  const IterationStats& stats = algorithm_.stats();
  const double steps = static_cast<double>(algorithm_.env_steps_per_iteration() * comm_.size());
  std::vector<Metric> all = {{"steps_per_second", "Steps per second", "Perf/total_fps", steps / iteration_seconds_,
                              true, "{:>6} steps/s", Format::count, Section::speed},
                             {"mean_reward", "Mean reward", "Train/mean_reward", window_.mean_reward(), true,
                              "reward {:>7}", Format::number, Section::episodes},
                             {"mean_episode_length", "Mean episode length", "Train/mean_episode_length",
                              window_.mean_length(), true, "length {:>6}", Format::number, Section::episodes},
                             {"episodes", "", "", stats.episodes.count}};
  std::ranges::copy(algorithm_.metrics(), std::back_inserter(all));
  // These are rank 0's times, except collection_time: it is the largest of rank 0's time in this iteration and all
  // ranks' times in the previous one.
  const auto time = [&](const char* name, const char* label, const char* tag, double seconds, Section section,
                        Format format = Format::seconds) {
    all.push_back({name, label, tag, seconds, true, "", format, section});
  };
  time("collection_time", "Collection time", "Perf/collection_time", slowest_collection_, Section::speed);
  time("learning_time", "Learning time", "Perf/learning_time", stats.learning_time, Section::speed);
  time("waiting_time", "Waiting time", "Perf/waiting_time", waiting_, Section::speed);
  time("iteration_time", "Iteration time", "", iteration_seconds_, Section::time);
  time("elapsed_time", "Time elapsed", "", elapsed(), Section::time, Format::duration);
  add_task_metrics(all);
  return {iteration_, train_.max_iterations, env_steps_, std::move(all)};
}

// Adds the metrics that the task defines, under its names. Episode_Reward is defined as in Isaac Lab and mjlab: the
// mean sum over an episode, divided by the length in seconds of the longest possible episode
// (isaaclab/managers/reward_manager.py, RewardManager.reset), or of the mean episode if there is no step limit.
void Trainer::add_task_metrics(std::vector<Metric>& all) const {
  const auto add = [&](const std::string& name, const std::string& tag, double value, bool on_console) {
    all.push_back({name, on_console ? tag : "", tag, value, on_console, "", Format::number, Section::terms});
  };
  for (size_t k = 0; k < task_.reward_terms.size(); ++k)
    add("episode/" + task_.reward_terms[k], "Episode/" + task_.reward_terms[k], window_.mean_term(k), true);
  const double seconds = task_.dt * (task_.step_limit > 0 ? task_.step_limit : window_.mean_length());
  for (size_t k = 0; k < task_.reward_terms.size(); ++k)
    add("episode_reward/" + task_.reward_terms[k], "Episode_Reward/" + task_.reward_terms[k],
        window_.mean_term(k) / seconds, false);
  for (size_t k = 0; k < task_.metrics.size(); ++k)
    add("metrics/" + task_.metrics[k], "Metrics/" + task_.metrics[k], window_.mean_metric(k), true);
  for (size_t k = 0; k < task_.ends.size(); ++k)
    add("episode_termination/" + task_.ends[k], "Episode_Termination/" + task_.ends[k], window_.share_of_end(k), true);
  const std::vector<float>& curriculum = algorithm_.stats().curriculum;
  for (size_t k = 0; k < task_.curriculum.size(); ++k)
    add("curriculum/" + task_.curriculum[k], "Curriculum/" + task_.curriculum[k],
        curriculum.empty() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(curriculum[k]), true);
  add("lost_environments", "Train/lost_environments", algorithm_.stats().episodes.lost, false);
}

// All ranks decide alike: intervals are in iterations, and rank 0's request to save came with the all-reduce.
void Trainer::save_if_due(RunMonitor* monitor) {
  const bool interval = iteration_ % run_.save_interval == 0;
  const bool evaluation = run_.eval_interval > 0 && (iteration_ % run_.eval_interval == 0 || finished());
  if (interval || evaluation || save_requested_) save(monitor, score(evaluation));
}

// The number is rank 0's.
std::optional<double> Trainer::score(bool evaluate_now) const {
  if (run_.eval_interval > 0) return evaluate_now ? std::optional(evaluate_()) : std::nullopt;
  return window_.episodes() < RewardWindow::kEpisodes ? std::nullopt : std::optional(window_.mean_reward());
}

void Trainer::save(RunMonitor* monitor, std::optional<double> score) {
  if (saved_iteration_ == iteration_) return;
  check_replicas_now();
  if (monitor && save_replay_) monitor->directory().require_usable();
  if (save_replay_) save_replay_(iteration_);
  std::vector<Tensor> tensors = gather_state(state_, comm_);
  if (read_energy_) energy_ = read_energy_();
  if (monitor) monitor->save(progress(), elapsed(), std::move(tensors), score);
  saved_iteration_ = iteration_;
  last_save_ = steady_seconds();
}

int Trainer::finish(RunMonitor* monitor) {
  if (saved_iteration_ != iteration_) save(monitor, score(false));
  const std::string why = why_done();
  uint8_t code = 0;
  if (monitor) {
    const bool saved = monitor->finish(progress(), why.empty() ? "stopped" : why);
    monitor->message(outcome(*monitor));
    if (!saved)
      log::write(
          log::Level::common_error,
          "no newer checkpoint was saved (the warnings above give the reason), so requeueing would not help: check " +
              monitor->directory().path().string() + " first, then resume the run");
    const bool waited = monitor->finish_hook();
    code = static_cast<uint8_t>(!saved         ? kFailure
                                : !waited      ? exit_code_of(requested_stop())
                                : !why.empty() ? kDone
                                               : exit_code_of(stop_));
  }
  comm_.broadcast_without_spinning(std::as_writable_bytes(std::span(&code, 1)), 0);
  return code;
}

std::string Trainer::progress_text() const {
  return fmt::format(" at iteration {}, mean reward {}", iteration_, human_number(window_.mean_reward()));
}

// Returns the line of the energy in all starts of the run, "" if it is unknown.
std::string Trainer::energy_text(const RunMonitor& monitor) const {
  const std::optional<double> joules = monitor.manifest().gpu_joules(progress());
  if (!joules || !energy_) return "";
  return fmt::format("\n  energy       {} on {} ({} kWh)", human_energy(*joules), counted(energy_->gpus, "GPU"),
                     human_number(*joules / kJoulesPerKwh));
}

// Returns the final message: how the run ended, and the commands to evaluate and to resume it.
std::string Trainer::outcome(const RunMonitor& monitor) const {
  const CommStats& comm = comm_.stats();
  const std::string why = why_done();
  std::vector<std::string> evaluate = {"drl_eval", "--run", monitor.directory().path().string()};
  const std::vector<std::string> library = task_library_option(train_.task);
  evaluate.insert(evaluate.end(), library.begin(), library.end());
  return fmt::format("{}{}\n  all-reduces  {} of float64 ({}), {} of float32 ({}){}\n  evaluate     {}{}",
                     why.empty() ? std::string("stopped by ") + name_of(stop_) : why, progress_text(),
                     comm.all_reduces_f64, human_bytes(static_cast<double>(comm.bytes_f64)), comm.all_reduces_f32,
                     human_bytes(static_cast<double>(comm.bytes_f32)), energy_text(monitor), shell_line(evaluate),
                     !why.empty() ? "" : "\n  resume       " + monitor.resume_command());
}

double Trainer::elapsed() const { return elapsed_before_ + steady_seconds() - start_; }

}  // namespace drl

#include "run/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What rides in the iteration's float64 all-reduce: counts of ranks that ask for each kind of stop, rank 0's wish to
// save, and slots of each rank (zeros elsewhere) for the fingerprint of its state and for its collection and waiting
// times in the iteration before.
struct Riders {
  static constexpr size_t stop = 0, save = 5, slots = 6;
  static size_t fingerprint(int rank) { return slots + 3 * static_cast<size_t>(rank); }
  static size_t collection(int rank) { return fingerprint(rank) + 1; }
  static size_t waiting(int rank) { return fingerprint(rank) + 2; }
  static size_t size(int world_size) { return fingerprint(world_size); }
};

}  // namespace

Trainer::Trainer(const Options& options, Algorithm& algorithm, const TaskSpec& task, Communicator& comm,
                 Evaluation evaluate)
    : options_(options),
      algorithm_(algorithm),
      task_(task),
      comm_(comm),
      evaluate_(std::move(evaluate)),
      window_(task.reward_terms.size()),
      riders_(Riders::size(comm.size())),
      all_waiting_(comm.size()),
      start_(now()) {
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

int Trainer::run(RunReport* report) {
  start_ = last_save_ = now();
  if (finished()) return nothing_to_do(report);
  while (!finished()) {
    iterate(report);
    if (report) report->iteration(metrics());
    save_if_due(report);
  }
  return finish(report);
}

bool Trainer::finished() const {
  return stop_ != Stop::none || target_reached() || iteration_ >= options_.train.max_iterations;
}

bool Trainer::target_reached() const {
  // The first episodes to end are the short ones: not before there are enough.
  return options_.train.target_reward && window_.episodes() >= RewardWindow::kEpisodes &&
         window_.mean_reward() >= *options_.train.target_reward;
}

int Trainer::nothing_to_do(RunReport* report) const {
  if (!report) return kDone;
  report->message("nothing to do: the run is" + standing() + "; a larger --max_iterations" +
                  (target_reached() ? ", and --target_reward none," : "") + " goes on");
  report->finish(iteration_, env_steps_, target_reached() ? "target reached" : "done", comm_.stats());
  return kDone;
}

void Trainer::iterate(RunReport* report) {
  const double begin = now(), seconds_before = iteration_seconds_;
  wait_before_ = comm_.stats().wait_seconds;
  write_riders(report);
  algorithm_.iterate(iteration_, comm_, riders_);
  read_riders();
  if (report) report->waiting(seconds_before, all_waiting_);
  check_replicas();
  iteration_ += 1;
  env_steps_ += algorithm_.env_steps_per_iteration() * comm_.size();
  window_.add(algorithm_.stats().episodes);
  waiting_ = comm_.stats().wait_seconds - wait_before_;
  iteration_seconds_ = now() - begin;
}

void Trainer::write_riders(RunReport* report) {
  std::fill(riders_.begin(), riders_.end(), 0.0);
  Stop wanted = requested_stop();
  if (report) wanted = std::max(wanted, report->requested_stop());
  riders_[Riders::stop + static_cast<size_t>(wanted)] = 1;
  riders_[Riders::save] = report && now() - last_save_ > options_.run.save_seconds;
  hashes_ = hash_state(host_state_);
  riders_[Riders::fingerprint(comm_.rank())] = fingerprint(hashes_);
  riders_[Riders::collection(comm_.rank())] = algorithm_.stats().collection_time;
  riders_[Riders::waiting(comm_.rank())] = waiting_;
}

void Trainer::read_riders() {
  for (Stop stop : {Stop::time_limit, Stop::to_be_continued, Stop::interrupted, Stop::terminated})
    if (riders_[Riders::stop + static_cast<size_t>(stop)] > 0) stop_ = stop;
  save_requested_ = riders_[Riders::save] > 0;
  slowest_collection_ = algorithm_.stats().collection_time;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    slowest_collection_ = std::max(slowest_collection_, riders_[Riders::collection(rank)]);
    all_waiting_[rank] = riders_[Riders::waiting(rank)];
  }
}

// All ranks see all fingerprints, and so decide alike.
void Trainer::check_replicas() {
  const std::span<const double> others = algorithm_.fingerprints();
  bool equal = std::ranges::adjacent_find(others, std::not_equal_to()) == others.end();
  for (int rank = 1; rank < comm_.size(); ++rank)
    equal &= riders_[Riders::fingerprint(rank)] == riders_[Riders::fingerprint(0)];
  if (equal) return;
  // As the iteration began: what diverged may be equal again at its end.
  StateHashes all;
  const std::vector<uint64_t> on_queue = algorithm_.field_fingerprints();
  auto of_queue = on_queue.begin();
  auto of_host = hashes_.begin();
  for (const StateField& field : state_)
    if (field.sharding == Sharding::replicated) all.push_back(field.queue ? *of_queue++ : *of_host++);
  throw_divergence(all);
}

// Before a save: what the last update did is in no all-reduce yet.
void Trainer::check_replicas_now() {
  const StateHashes hashes = hash_state(state_);
  const double mine = fingerprint(hashes);
  const std::vector<std::byte> all = comm_.gather(std::as_bytes(std::span(&mine, 1)), 0);
  uint8_t equal = 1;
  for (size_t at = 0; at < all.size(); at += sizeof(mine)) equal &= std::memcmp(&all[at], &all[0], sizeof(mine)) == 0;
  comm_.broadcast(std::as_writable_bytes(std::span(&equal, 1)), 0);
  if (!equal) throw_divergence(hashes);
}

void Trainer::throw_divergence(const StateHashes& mine) {
  throw SharedError("replicas are no longer equal at iteration " + std::to_string(iteration_) + " (" +
                    describe_divergence(state_, mine, comm_) +
                    "): a rank computed other numbers, by broken hardware or mixed libraries; resume from the last "
                    "checkpoint without that host");
}

IterationMetrics Trainer::metrics() const {
  const IterationStats& stats = algorithm_.stats();
  IterationMetrics m;
  m.iteration = iteration_;
  m.max_iterations = options_.train.max_iterations;
  m.env_steps = env_steps_;
  m.steps_per_second = static_cast<double>(algorithm_.env_steps_per_iteration() * comm_.size()) / iteration_seconds_;
  m.mean_reward = window_.mean_reward();
  m.mean_episode_length = window_.mean_length();
  m.episodes = stats.episodes.count;
  for (size_t k = 0; k < task_.reward_terms.size(); ++k)
    m.reward_terms.emplace_back(task_.reward_terms[k], window_.mean_term(k));
  m.value_loss = stats.value_loss;
  m.surrogate_loss = stats.surrogate_loss;
  m.entropy = stats.entropy;
  m.kl = stats.kl;
  m.clip_fraction = stats.clip_fraction;
  m.gradient_norm = stats.gradient_norm;
  m.explained_variance = stats.explained_variance;
  m.learning_rate = stats.learning_rate;
  m.action_std = stats.action_std;
  m.collection_time = slowest_collection_;
  m.learning_time = stats.learning_time;
  m.waiting_time = waiting_;
  m.iteration_time = iteration_seconds_;
  m.elapsed_time = elapsed();
  return m;
}

// Every rank decides alike: the cadence is in iterations, and rank 0's clock came with the all-reduce.
void Trainer::save_if_due(RunReport* report) {
  const bool interval = iteration_ % options_.run.save_interval == 0;
  const bool evaluation =
      options_.run.eval_interval > 0 && (iteration_ % options_.run.eval_interval == 0 || finished());
  if (interval || evaluation || save_requested_) save(report, score(report, evaluation));
}

std::optional<double> Trainer::score(RunReport* report, bool evaluate_now) const {
  if (!report) return std::nullopt;
  if (options_.run.eval_interval > 0) return evaluate_now ? std::optional(evaluate_()) : std::nullopt;
  return window_.episodes() < RewardWindow::kEpisodes ? std::nullopt : std::optional(window_.mean_reward());
}

void Trainer::save(RunReport* report, std::optional<double> score) {
  if (saved_iteration_ == iteration_) return;
  check_replicas_now();
  std::vector<Tensor> tensors = gather_state(state_, comm_);
  if (report) report->save(iteration_, env_steps_, elapsed(), std::move(tensors), score, comm_.stats());
  saved_iteration_ = iteration_;
  last_save_ = now();
}

int Trainer::finish(RunReport* report) {
  if (saved_iteration_ != iteration_) save(report, score(report, false));
  const bool done = target_reached() || iteration_ >= options_.train.max_iterations;
  const std::string status = target_reached() ? "target reached" : done ? "done" : "stopped";
  uint8_t saved = 1;
  if (report) {
    saved = report->finish(iteration_, env_steps_, status, comm_.stats());
    report->message(outcome(*report));
    if (!saved)
      log::write(log::Level::common_error,
                 "no newer checkpoint was made (the warnings above say why): requeueing would not help; see to " +
                     report->directory().path().string() + " first, then go on");
    report->finish_hook();
  }
  comm_.broadcast_asleep(std::as_writable_bytes(std::span(&saved, 1)), 0);
  if (!saved) return kFailure;
  return done ? kDone : exit_code_of(stop_);
}

std::string Trainer::standing() const {
  return " at iteration " + std::to_string(iteration_) + ", mean reward " + human_number(window_.mean_reward());
}

// What the run came to, where it lies, and what to type next.
std::string Trainer::outcome(const RunReport& report) const {
  const std::string run = report.directory().path().string(), at = standing();
  const CommStats& comm = comm_.stats();
  const std::string counts = "\n  collectives  " + std::to_string(comm.all_reduces_f64) + " of float64 (" +
                             human_bytes(static_cast<double>(comm.bytes_f64)) + "), " +
                             std::to_string(comm.all_reduces_f32) + " of float32 (" +
                             human_bytes(static_cast<double>(comm.bytes_f32)) + ")";
  const std::string next = counts + "\n  evaluate     drl_eval --run " + run;
  if (target_reached()) return "target reached" + at + next;
  if (iteration_ >= options_.train.max_iterations) return "done" + at + next;
  return std::string("stopped by ") + name_of(stop_) + at + next + "\n  go on        " + report.command_to_go_on();
}

double Trainer::elapsed() const { return elapsed_before_ + now() - start_; }

}  // namespace drl

// The training loop that every rank runs: iterate, report, save, stop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "report/metrics.hpp"
#include "run/gate.hpp"
#include "run/reward_window.hpp"
#include "run/run_monitor.hpp"
#include "run/state.hpp"
#include "run/train_options.hpp"

namespace drl {

class Trainer {
 public:
  // Collective. Returns the mean return of a deterministic evaluation on rank 0.
  using Evaluation = std::function<double()>;
  // Collective. Plays the task's gate; the result is rank 0's.
  using Gate = std::function<GateResult()>;

  // Adds places to the algorithm's sums, so the algorithm must not have begun an iteration.
  Trainer(const TrainOptions& train, const RunOptions& run, Algorithm& algorithm, const TaskSpec& task,
          Communicator& comm, Evaluation evaluate, Gate gate = {});

  // All fields that a checkpoint holds.
  const StateList& state() const { return state_; }
  int64_t iteration() const { return iteration_; }
  RunProgress progress() const {
    return {.iteration = iteration_, .env_steps = env_steps_, .comm = comm_.stats(), .gpu_energy = energy_};
  }
  IterationMetrics metrics() const;  // of the latest iteration
  // Call after loading the state. The run took `elapsed` seconds in its earlier starts.
  void state_loaded(double elapsed);

  // Calls `read` now and at each save. It is collective, and returns the energy of the GPUs in this start on rank 0.
  void measure_energy(std::function<std::optional<GpuEnergy>()> read);

  // Calls `save` on all ranks before each checkpoint is written, to save the state that the checkpoint lacks.
  void save_replay(std::function<void(int64_t iteration)> save) { save_replay_ = std::move(save); }

  // Returns true if the iteration target or the reward target is reached, or if a stop was requested.
  bool finished() const;
  // Says so of a run that is resumed although it has reached its targets.
  std::string nothing_to_do() const;
  // Trains until the iteration target, the reward target or a request to stop, and saves. `monitor` is null except on
  // rank 0. Returns the exit code, which is the same on all ranks.
  int run(RunMonitor* monitor);

 private:
  // The training loop's places in the iteration's float64 all-reduce.
  struct Sums {
    Sums(Slots& slots, size_t ranks);
    // For each kind of stop, the number of ranks that request it, and rank 0's request to save.
    Slots::Place stops, save;
    // For each rank, the fingerprint of its host_state_, and its times in the previous iteration.
    Slots::Place fingerprints, collection, waiting;
  };
  bool target_reached() const;
  std::string why_done() const;  // empty if the run goes on, or was told to stop
  void try_gate_if_due(RunMonitor* monitor);
  void iterate(RunMonitor* monitor);
  void write_sums(RunMonitor* monitor);
  void read_sums();
  void check_lost_environments(bool is_reporting);
  void check_replicas();
  void check_replicas_now();
  [[noreturn]] void throw_divergence(const StateHashes& mine);
  void save_if_due(RunMonitor* monitor);
  std::optional<double> score(bool evaluate_now) const;
  void save(RunMonitor* monitor, std::optional<double> score);
  int finish(RunMonitor* monitor);
  int end_at_once(RunMonitor* monitor) const;
  std::string progress_text() const;
  std::string energy_text(const RunMonitor& monitor) const;
  std::string outcome(const RunMonitor& monitor) const;
  double elapsed() const;
  void add_task_metrics(std::vector<Metric>& all) const;

  TrainOptions train_;
  RunOptions run_;
  Algorithm& algorithm_;
  TaskSpec task_;
  Communicator& comm_;
  Evaluation evaluate_;
  Gate gate_;
  std::function<std::optional<GpuEnergy>()> read_energy_;
  std::function<void(int64_t)> save_replay_;
  StateList state_, host_state_;  // host_state_: the fields that the algorithm does not fingerprint itself

  int64_t iteration_ = 0;  // number of finished iterations
  int64_t env_steps_ = 0;  // on all ranks
  RewardWindow window_;

  Sums sums_;
  StateHashes hashes_;  // of host_state_ at the beginning of the iteration
  Stop stop_ = Stop::none;
  bool save_requested_ = false, passed_gate_ = false;
  double slowest_collection_ = 0, iteration_seconds_ = 0, wait_before_ = 0, waiting_ = 0;
  double elapsed_before_ = 0, start_ = 0, last_save_ = 0;
  int64_t saved_iteration_ = -1;
  std::optional<GpuEnergy> energy_;  // at the last save
};

}  // namespace drl

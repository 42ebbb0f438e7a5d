// What drl_train does before and around the training loop, step by step.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/ppo/ppo.hpp"
#include "cluster/communicator.hpp"
#include "cluster/launch_info.hpp"
#include "cluster/machine.hpp"
#include "cluster/placement.hpp"
#include "run/deadline.hpp"
#include "run/run_directory.hpp"
#include "run/run_record.hpp"
#include "run/trainer.hpp"

namespace drl {

// Options of the command line alone.
struct CommandOptions {
  std::string config;
  int ranks = 0;
  int threads = 0;  // 0 as the allocation says
  bool quiet = false;
  std::string preflight = "quick";
  bool help = false, version = false, list_tasks = false, print_config = false;
  // Isaac Lab's, accepted with a word on what they mean here.
  bool headless = false, distributed = false;
  int num_gpus = 0;
  void describe(OptionVisitor& v);
};

// Everything that the command line, config files and presets say.
struct Settings {
  std::string program;  // as the user called it
  CommandOptions command;
  Options options;
  OptionTable table;
  std::vector<NamedValue> command_line;

  // `words`: the program's name and its arguments.
  explicit Settings(const std::vector<std::string>& words);
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // The text of the file `path`, "" without one. Throws UsageError. Warns of what it holds to no effect.
  std::string read_config(const std::string& path) const;
  // The same warning, of the options that the checkpoint `file` holds.
  void warn_of_commands(const std::string& options_ini, const std::string& file) const;
  // Sets all options anew: task preset, `run_ini` (of the run that is resumed, or empty), `config_ini`, command line.
  void apply(const std::string& config_ini, const std::string& run_ini = "");
};

// Throws UsageError if no task is named.
void require_task(const std::string& task);

// A run that is ready to go on all ranks.
class TrainingJob {
 public:
  // Throws UsageError (on all ranks) if the options do not fit together. Writes nothing.
  TrainingJob(const Settings& settings, const LaunchInfo& launch, Communicator& comm);

  // Loads what `start` says; rank 0's `start` counts.
  void load(const RunStart& start);
  // Opens the run directory (rank 0), says what will be done, and trains. Returns the exit code.
  int train(const RunStart& start);

 private:
  double evaluate_policy();
  Checkpoint read_first_good(const RunStart& start);
  std::string command_to_go_on(const RunStart& start) const;
  std::string engine() const;  // "libtorch 1.13.1 (OpenBLAS)"
  RunFacts facts(const RunStart& start) const;
  std::string job_text(const Allocation& job);
  std::string banner(const RunStart& start, const RunFacts& facts);

  const Settings& settings_;
  LaunchInfo launch_;
  Communicator& comm_;  // of the host
  Machine machine_;
  std::vector<std::string> hosts_;    // one a rank, on rank 0
  std::optional<Allocation> job_;     // Slurm's
  std::optional<Deadline> deadline_;  // on rank 0, in a job
  Placement placement_;
  BatchPlan plan_;
  TaskSpec task_;
  ActorCritic spec_;
  std::unique_ptr<Communicator> gpu_comm_;  // outlives what is recorded, which holds its all-reduces
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Nets> nets_;
  std::unique_ptr<VecEnv> envs_;
  std::unique_ptr<Ppo> ppo_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<std::filesystem::path> damaged_;  // checkpoints that could not be read
};

}  // namespace drl

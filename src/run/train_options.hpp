// Options of a training run. They have Isaac Lab's names where Isaac Lab has such an option.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/make_algorithm.hpp"
#include "algorithms/options.hpp"
#include "base/options.hpp"
#include "envs/make_env.hpp"
#include "envs/task_params.hpp"
#include "placement/device.hpp"
#include "policy/options.hpp"

namespace drl {

struct TrainOptions {
  std::string task;
  std::string algorithm = algorithm_names().front();
  std::string teacher;
  int num_envs = 1024;
  int num_envs_total = 0;
  int num_steps_per_env = 16;
  int max_iterations = 150;
  std::optional<double> target_reward;
  bool gate = false;
  int gate_interval = 25;
  int64_t seed = 0;
  std::string device = "auto";
  std::string gpu_ids;
  bool init_at_random_ep_len = true;
  int shards = 0;
  int deterministic_shards = 0;
  std::string isa = "auto";
  std::string nets = "auto";
  std::string precision = "fp32";
  std::string nan_policy = "reset";

  void describe(OptionVisitor& v) {
    v("task", task, "task to learn; --list_tasks prints all names", common, always);
    v("algorithm", algorithm, "algorithm that trains the policy", one_of(algorithm_names()), common, always);
    v("teacher", teacher,
      "run or checkpoint whose policy the student learns (pretrained/NAME comes with drl); the teacher sees all "
      "observations of the group with which it was trained: policy, or critic with --env.actor_obs critic",
      as_path, only_with("algorithm", algorithm_with_teacher()));
    v("num_envs", num_envs, "environments per rank", between(1, 1 << 24), only_with("num_envs_total", "0"), common);
    v("num_envs_total", num_envs_total, "environments on all ranks together; 0 = num_envs on each rank",
      between(0, 1 << 30), always);
    v("num_steps_per_env", num_steps_per_env, "steps of each environment per iteration", between(1, 1 << 20),
      only_with("rollout", "steps"), common);
    v("max_iterations", max_iterations, "end after this number of iterations in total, including those before a resume",
      at_least(0), Effect::none, common, always);
    v("target_reward", target_reward, "end as soon as the mean reward reaches this value; none = no target",
      any_number(), Effect::none, common, always);
    v("gate", gate, "end as soon as the policy passes the task's gate: what a good policy reaches (drl_eval --gate)",
      Effect::none, common, always);
    v("gate_interval", gate_interval, "try the gate every N iterations", at_least(1), Effect::none,
      only_with("gate", "true"), always);
    v("seed", seed, "seed of all random numbers", at_least(0), common, always);
    v("device", device, "auto (a GPU if one is available), cpu, cuda, or cuda:N", Effect::none,
      per_rank(kind_of_device), common, always);
    v("gpu_ids", gpu_ids, "which of the visible GPUs to use: all, a list such as 0,2, or None for the CPU",
      Effect::none, per_rank(kind_of_gpu_ids), not_with("device", "cpu"));
    v("init_at_random_ep_len", init_at_random_ep_len,
      "start the first episodes at random ages, so that time limits do not end them all at once",
      only_with("rollout", "steps"), only_with("time_limit", "yes"));
    v("shards", shards,
      "number of groups of environments; samples are shuffled within each group, so results depend on this number; "
      "0 = one per rank",
      at_least(0), only_with("deterministic_shards", "0"), always);
    v("deterministic_shards", deterministic_shards,
      "learn from this many groups of environments, a power of two, of which each rank has an equal part: results are "
      "the same bits for any number of ranks; needs num_envs_total; 0 = results depend on the ranks",
      between(0, 1024), added_later("0"), always);
    v("nan_policy", nan_policy,
      "what to do when an environment computes NaN or infinity: reset it, also dump its state before that step (for "
      "drl_eval --replay_dump), or stop the run with an error",
      one_of({"reset", "dump", "stop"}), Effect::none, always);
    v("isa", isa, "CPU instruction set (x86-64-v2, ...); auto = the best that the CPUs of all ranks support", always);
    v("nets", nets,
      "engine of the networks: fused (drl's own kernels), torch (libtorch, on CPUs), or auto: on CPUs fused where it "
      "is faster, on GPUs cuBLAS layer by layer; fused on GPUs is experimental and has not run on a real GPU yet",
      one_of({"auto", "fused", "torch"}), always);
    v("precision", precision,
      "precision of matrix products: in fused networks, bf16 rounds their factors to 8 significant bits, and fp16 (on "
      "GPUs) to 11; cuBLAS has tf32, with 11; on CPUs, bf16 is 1.2 to 1.7 times as fast with AVX512_BF16; auto is bf16 "
      "on such CPUs, else fp32",
      one_of({"auto", "fp32", "tf32", "fp16", "bf16"}), always);
  }
};

struct RunOptions {
  std::string runs_dir;
  std::string run_name;
  bool resume = false;
  std::string load_run;
  std::string checkpoint;
  std::string init_from;
  bool fresh = false;
  int save_interval = 50;
  double save_seconds = 300;
  int keep_checkpoints = 5;
  std::string save_replay = "last";
  int eval_interval = 0;
  int video_interval = 0;
  std::string logger = "tensorboard";
  std::optional<double> time_margin;
  std::string after_checkpoint;
  bool squeue_comment = false;
  double balance_seconds = 20;  // see Balance; only tests change it

  void describe(OptionVisitor& v) {
    v("runs_dir", runs_dir, "directory of all runs; empty = $DRL_RUNS_DIR, or else runs", as_path, Effect::none,
      Where::command_line, always);
    v("run_name", run_name, "name of the run; empty = slurm-<job> in a Slurm job, else the time", Effect::none,
      Where::command_line, only_with("load_run", ""), common);
    v("resume", resume, "resume --run_name, or else the task's latest run; options given now replace the run's own",
      Effect::none, Where::command_line, common, always);
    v("load_run", load_run, "resume this run, given by name or directory; options given now replace the run's own",
      as_path, Effect::none, Where::command_line, common, always);
    v("checkpoint", checkpoint,
      "start a new run from this checkpoint's whole state (weights, optimiser, environments, iteration)", as_path,
      Effect::none, Where::command_line, always);
    v("init_from", init_from,
      "start a new run from the weights and normaliser of this checkpoint only (pretrained/NAME comes with drl)",
      as_path, Effect::none, Where::command_line, common, always);
    v("fresh", fresh, "start --run_name again from the beginning; the old directory is kept as <run_name>.old",
      Effect::none, Where::command_line, only_with("name", "chosen"), common);
    v("save_interval", save_interval, "save a checkpoint every N iterations", at_least(1), Effect::none, common,
      always);
    v("save_seconds", save_seconds, "also save when this much time has passed since the last checkpoint", unit("s"),
      above(0), Effect::none, always);
    v("keep_checkpoints", keep_checkpoints, "number of newest checkpoints to keep, in addition to the best one",
      at_least(1), Effect::none, always);
    v("save_replay", save_replay,
      "keep the replay buffer (one file per rank) of the newest checkpoint, of all checkpoints, or of none; a resume "
      "then starts with an empty one",
      one_of({"last", "all", "none"}), Effect::none, only_with("replay", "yes"));
    v("eval_interval", eval_interval,
      "evaluate the policy every N iterations to choose the best checkpoint; 0 = choose it by the mean reward of "
      "training",
      at_least(0), Effect::none, common, always);
    v("video_interval", video_interval,
      "record a video beside every N-th checkpoint (drl_eval does so in the background); 0 = no videos", at_least(0),
      Effect::none, common, always);
    v("time_margin", time_margin,
      "time that must remain between the last save and a Slurm job's time limit; none = a tenth of the limit, at most "
      "60 s",
      unit("s"), at_least(0), Effect::none, only_with("job", "yes"));
    v("after_checkpoint", after_checkpoint,
      "shell command to run after each checkpoint, whose path is $1; empty = $DRL_AFTER_CHECKPOINT", Effect::none,
      Where::never_in_files, always);
    v("squeue_comment", squeue_comment, "show the progress in squeue (-o %k), once a minute", Effect::none,
      only_with("job", "yes"));
    v("logger", logger, "tensorboard = write TensorBoard event files in addition to metrics.csv",
      one_of({"tensorboard", "none"}), Effect::none, always);
  }
};

struct GpuOptions {
  bool cuda_graphs = true;
  double init_timeout = 600, comm_timeout = 300;
  bool deterministic = false;

  void describe(OptionVisitor& v) {
    v("cuda_graphs", cuda_graphs,
      "launch each iteration as CUDA graphs; false = launch kernels one at a time, with identical results",
      Effect::none, only_with("hardware", "gpu"));
    v("init_timeout", init_timeout, "time limit for connecting the GPUs of all ranks", above(0), unit("s"),
      Effect::none, only_with("hardware", "gpu"));
    v("comm_timeout", comm_timeout,
      "how long ranks wait for a rank that has stopped; on GPUs, the time limit of an all-reduce unless a rank still "
      "computes (ten times as long for the GPU's own work between two)",
      above(0), unit("s"), Effect::none, always);
    v("deterministic", deterministic, "make two runs on the same GPUs bit-identical, at some cost of speed",
      Effect::none, only_with("hardware", "gpu"));
  }
};

// All options of a run. Those of the program itself, such as --help, are CommandOptions (apps/settings.hpp).
struct Options {
  TrainOptions train;
  RunOptions run;
  PolicyOptions policy;
  GpuOptions gpu;
  std::vector<std::unique_ptr<AlgorithmKind>> algorithms = all_algorithms();  // each with its own options
  std::unique_ptr<TaskParams> env;                                            // the options of the task itself

  // The algorithm that --algorithm selects.
  const AlgorithmKind& algorithm() const {
    return **std::ranges::find(algorithms, train.algorithm, [](const auto& kind) { return kind->name(); });
  }
  void add_to(OptionTable& table) {
    table.section("", "Training", train);
    table.section("", "Run directory", run);
    table.section("", "GPUs", gpu);
    table.section("policy", "Policy", policy);
    for (const auto& kind : algorithms) kind->describe(table);
    table.defer_section("env");
  }
  // Adds the options of the task itself, unless `task` is empty. Throws UsageError if the task does not exist.
  void set_task(OptionTable& table, const std::string& task) {
    train.task = task;
    if (task.empty()) return;
    env = std::make_unique<TaskParams>(task_record(task));
    TaskParams::Rewards rewards = env->rewards();
    table.section("env", "Task", *env);
    table.section("env.reward", "Rewards", rewards);
  }
  // Takes the options that a run of `task` recorded (`ini`, from `file`), calls change(table), and chooses the physics.
  void take_recorded(
      const std::string& task, const std::string& ini, const std::string& file,
      const std::function<void(OptionTable&)>& change = [](OptionTable&) {}) {
    OptionTable table;
    add_to(table);
    set_task(table, task);
    table.apply_run(ini, file);
    change(table);
    env->choose_physics();
  }
  // Returns the policy that these options describe.
  PolicySpec policy_spec() const { return algorithm().policy(task_spec(train.task, env->setup()), policy); }
};

}  // namespace drl

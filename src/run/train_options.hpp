// Options of a training run. Names are Isaac Lab's where it has them.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/make_algorithm.hpp"
#include "algorithms/options.hpp"
#include "base/options.hpp"
#include "envs/make_env.hpp"
#include "envs/task_params.hpp"

namespace drl {

struct TrainOptions {
  std::string task;
  std::string algorithm = algorithm_names().front();
  int num_envs = 1024;
  int num_steps_per_env = 16;
  int max_iterations = 150;
  std::optional<double> target_reward;
  int64_t seed = 0;
  std::string device = "auto";
  std::string gpu_ids;
  bool init_at_random_ep_len = true;
  int shards = 0;
  std::string isa = "auto";
  std::string nets = "auto";
  std::string precision = "fp32";
  std::string nan_policy = "reset";

  void describe(OptionVisitor& v) {
    v("task", task, "what to learn (--list_tasks)");
    v("algorithm", algorithm, "how to learn it", one_of(algorithm_names()));
    v("num_envs", num_envs, "environments per rank", between(1, 1 << 24));
    v("num_steps_per_env", num_steps_per_env, "steps of each environment per iteration", between(1, 1 << 20));
    v("max_iterations", max_iterations, "iteration to end at, counted from the run's beginning", at_least(0),
      Effect::none);
    v("target_reward", target_reward, "end as soon as the mean reward reaches this", any_number(), Effect::none);
    v("seed", seed, "key of all random numbers", at_least(0));
    v("device", device, "auto (a GPU if there is one), cpu, cuda, or cuda:N", Effect::none);
    v("gpu_ids", gpu_ids, "of the visible GPUs use these: all, a list such as 0,2, or None for the CPU", Effect::none);
    v("init_at_random_ep_len", init_at_random_ep_len, "let the first episodes begin at random ages");
    v("shards", shards, "parts that environments are shuffled in, 0 = one per rank", at_least(0));
    v("nan_policy", nan_policy, "when a number of an environment is not finite: reset it and go on, or stop the run",
      one_of({"reset", "stop"}), Effect::none);
    v("isa", isa, "instruction set of the loops (x86-64-v2, ...): auto takes the best that all ranks' CPUs have");
    v("nets", nets,
      "what computes networks on CPUs: fused (our kernels), torch (libtorch), or auto, the first where it is faster",
      one_of({"auto", "fused", "torch"}));
    v("precision", precision,
      "of products in fused networks: bf16 rounds their numbers to 8 bits, 1.2 to 1.7 times as fast with AVX512_BF16",
      one_of({"fp32", "bf16"}));
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
  int eval_interval = 0;
  int video_interval = 0;
  std::string logger = "tensorboard";
  std::optional<double> time_margin;
  std::string after_checkpoint;
  bool squeue_comment = false;
  double balance_seconds = 20;  // see Balance; for tests

  void describe(OptionVisitor& v) {
    v("runs_dir", runs_dir, "folder of all runs, default $DRL_RUNS_DIR or runs", Effect::none, Where::command_line);
    v("run_name", run_name, "name of this run, default slurm-<job> or the time", Effect::none, Where::command_line);
    v("resume", resume, "go on with run_name, or with the latest run, under changed options too", Effect::none,
      Where::command_line);
    v("load_run", load_run, "go on with this run", Effect::none, Where::command_line);
    v("checkpoint", checkpoint, "begin a new run from all of this file", Effect::none, Where::command_line);
    v("init_from", init_from, "begin a new run from this file's weights and normaliser only", Effect::none,
      Where::command_line);
    v("fresh", fresh, "begin run_name anew; the old one is kept under another name", Effect::none, Where::command_line);
    v("save_interval", save_interval, "iterations between checkpoints", at_least(1), Effect::none);
    v("save_seconds", save_seconds, "save at least this often", unit("s"), above(0), Effect::none);
    v("keep_checkpoints", keep_checkpoints, "latest checkpoints kept, besides the best", at_least(1), Effect::none);
    v("eval_interval", eval_interval,
      "iterations between evaluations that choose the best checkpoint, 0 = by training mean", at_least(0),
      Effect::none);
    v("video_interval", video_interval,
      "checkpoints between films of what is learned, which drl_eval makes beside them; 0 = none", at_least(0),
      Effect::none);
    v("time_margin", time_margin,
      "left of a Slurm job's time when the run has saved and ends, none = a tenth of the job's limit, at most 60 s",
      unit("s"), at_least(0), Effect::none);
    v("after_checkpoint", after_checkpoint,
      "shell command after each checkpoint, whose path is $1; default $DRL_AFTER_CHECKPOINT", Effect::none,
      Where::never_in_files);
    v("squeue_comment", squeue_comment, "show progress in squeue (-o %k), once a minute", Effect::none);
    v("logger", logger, "event files beside metrics.csv", one_of({"tensorboard", "none"}), Effect::none);
  }
};

struct GpuOptions {
  bool cuda_graphs = true;
  double init_timeout = 600, comm_timeout = 300;
  bool deterministic = false;

  void describe(OptionVisitor& v) {
    v("cuda_graphs", cuda_graphs, "launch an iteration as graphs; without, kernel by kernel, with the same numbers",
      Effect::none);
    v("init_timeout", init_timeout, "how long the GPUs of all ranks may take to connect", above(0), unit("s"),
      Effect::none);
    v("comm_timeout", comm_timeout, "how long ranks wait in an all-reduce for one that does not come", above(0),
      unit("s"), Effect::none);
    v("deterministic", deterministic, "let two runs on the same GPUs give the same bits, at some cost of speed",
      Effect::none);
  }
};

// Everything but what belongs to a command line alone.
struct Options {
  TrainOptions train;
  RunOptions run;
  PolicyOptions policy;
  GpuOptions gpu;
  std::vector<std::unique_ptr<AlgorithmKind>> algorithms = all_algorithms();  // each with its own
  std::unique_ptr<TaskParams> env;                                            // the task's own

  // That of --algorithm.
  const AlgorithmKind& algorithm() const {
    return **std::ranges::find(algorithms, train.algorithm, [](const auto& kind) { return kind->name(); });
  }
  void add_to(OptionTable& table) {
    table.section("", "Training", train);
    table.section("", "Run directory", run);
    table.section("", "GPUs", gpu);
    table.section("policy", "Policy", policy);
    for (const auto& kind : algorithms) kind->add_to(table);
    table.await("env");
  }
  // Sets all options by `apply`; the task's own are known only when it has named the task.
  template <class Apply>
  void apply(OptionTable& table, const Apply& apply) {
    table.await("env");
    apply();
    if (train.task.empty()) return;
    env = std::make_unique<TaskParams>(task_record(train.task));
    TaskParams::Rewards rewards = env->rewards();
    table.section("env", "Task", *env);
    table.section("env.reward", "Rewards", rewards);
    apply();
  }
};

}  // namespace drl

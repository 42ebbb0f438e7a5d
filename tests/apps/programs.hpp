// Starts the programs as a user does, and reads the files that they leave.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../support/process.hpp"
#include "base/text.hpp"
#include "store/checkpoint.hpp"

namespace drl::test {

namespace fs = std::filesystem;

inline const std::string kTrain = bin("drl_train"), kEval = bin("drl_eval"), kCheckpointProgram = bin("drl_checkpoint");

// The library with the tasks Ladder, Breaking, Diverging, GivesNan and Thrower.
inline const std::string kTestTasks = built("tests/envs/libraries/libtest_programs.so");
inline const Words kWithTestTasks = {"--task_library", kTestTasks};

// The number of ranks of drl_train in this case, 1 or 2.
inline int rank_count = 1;
inline Words ranks() { return rank_count == 1 ? Words{} : Words{"--ranks", std::to_string(rank_count)}; }

// Sets the number of ranks. A fixture that has this as a member has OnTwoRanks in its name, or in that of a parameter:
// ctest gives such cases the label mpi.
struct Ranks {
  explicit Ranks(int number) { rank_count = number; }
  ~Ranks() { rank_count = 1; }
};
class OnTwoRanks : public testing::Test {
  const Ranks ranks_{2};
};
class OnRanks : public testing::TestWithParam<int> {
  const Ranks ranks_{GetParam()};
};
inline std::string name_of_ranks(int number) { return number == 1 ? "OnOneRank" : "OnTwoRanks"; }

// Declares a suite of TEST_P whose cases run on one rank and on two.
#define DRL_ON_RANKS(Suite)        \
  class Suite : public OnRanks {}; \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values(1, 2), [](const auto& info) { return name_of_ranks(info.param); })

// Returns true if drl_eval can record videos on this machine.
inline bool can_record_videos() { return run_program({kEval, "--check_video"}).exit_code == 0; }

// Returns the variables of a Slurm job that has this much time left.
inline Process::Variables job_variables(const std::string& id, int64_t seconds_left = 100000) {
  return {{"SLURM_JOB_ID", id}, {"SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + seconds_left)}};
}

// A directory of runs of one task.
struct Runs {
  explicit Runs(std::string task_name = "Cartpole") : task(std::move(task_name)) {}

  fs::path path() const { return folder / "runs"; }
  fs::path run(const std::string& name) const { return path() / task / name; }
  // The command line of drl_train with few environments and 4 steps each. `more` may override these options.
  Words command(const Words& more) const {
    return Words{kTrain, "--task",     task,           "--num_envs", "16", "--num_steps_per_env",
                 "4",    "--runs_dir", path().string()} +
           ranks() + more;
  }
  Result train(const Words& more, const Process::Variables& variables = {}) const {
    return run_program(command(more), variables);
  }
  // Returns the sorted names in the task's directory.
  Words names() const {
    Words result;
    for (const auto& entry : fs::directory_iterator(path() / task)) result.push_back(entry.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }

  // Returns the processes whose command line contains this directory and whose environment contains `variable`.
  std::vector<pid_t> processes(const std::string& variable = "") const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") == std::string::npos &&
          slurp(entry.path() / "cmdline").find(path().string()) != std::string::npos &&
          slurp(entry.path() / "environ").find(variable) != std::string::npos)
        found.push_back(std::stoi(name));
    }
    return found;
  }
  // Sends a signal to a rank. With one rank, that is drl_train itself.
  void signal_rank(int rank, int signal) const {
    for (const std::string name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})  // for Open MPI and MPICH
      for (pid_t pid : processes(rank_count == 1 ? "" : '\0' + name + "=" + std::to_string(rank) + '\0'))
        ::kill(pid, signal);
  }

  TempFolder folder;
  std::string task;
};

// A kind of run that tests train in several ways.
struct TrainingCase {
  std::string name, task;
  Words options;
};
inline void PrintTo(const TrainingCase& c, std::ostream* out) { *out << c.name; }

inline Words iterations_of(int number) { return {"--max_iterations", std::to_string(number)}; }

inline fs::path checkpoint_file(const fs::path& run, int iteration) {
  const std::string number = std::to_string(iteration);
  return run / "checkpoints" / ("iter_" + std::string(6 - number.size(), '0') + number + ".h5");
}

// Returns the sorted iterations of the checkpoints. Some may be missing if they were saved faster than the disk allows.
inline std::vector<int> checkpoints(const fs::path& run) {
  std::vector<int> result;
  std::error_code not_there_yet;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", not_there_yet))
    if (const std::string name = entry.path().filename(); name.starts_with("iter_") && name.ends_with(".h5"))
      result.push_back(std::stoi(name.substr(5)));
  std::sort(result.begin(), result.end());
  return result;
}
inline int newest_checkpoint(const fs::path& run) {
  const std::vector<int> all = checkpoints(run);
  return all.empty() ? 0 : all.back();
}

inline std::vector<Tensor> datasets(const fs::path& file) { return read_checkpoint(file).tensors; }

inline nlohmann::json run_json(const fs::path& run) { return nlohmann::json::parse(slurp(run / "run.json")); }

// Returns the lines of metrics.csv without the columns for times and speed.
inline Words metrics(const fs::path& run) {
  std::vector<size_t> kept;
  Words rows;
  for (const std::string& line : split(slurp(run / "metrics.csv"), '\n')) {
    const Words cells = split(line, ',');
    if (line.empty()) continue;
    if (rows.empty())
      for (size_t k = 0; k < cells.size(); ++k)
        if (!cells[k].ends_with("_time") && cells[k] != "steps_per_second") kept.push_back(k);
    std::string row;
    for (size_t k : kept) row += cells.at(k) + ",";
    rows.push_back(row);
  }
  return rows;
}

// Returns the numbers in a column of metrics.csv.
inline std::vector<double> column(const fs::path& run, const std::string& name) {
  const Words lines = split(slurp(run / "metrics.csv"), '\n'), header = split(lines.at(0), ',');
  const auto k = static_cast<size_t>(std::ranges::find(header, name) - header.begin());
  std::vector<double> values;
  for (size_t line = 1; line < lines.size(); ++line)
    if (!lines[line].empty()) values.push_back(std::stod(split(lines[line], ',').at(k)));
  return values;
}

// Returns the first column of metrics.csv without its header.
inline std::vector<int> iterations(const fs::path& run) {
  std::vector<int> result;
  for (const std::string& row : metrics(run))
    if (!row.starts_with("iteration")) result.push_back(std::stoi(row));
  return result;
}

inline std::vector<int> count_to(int last) {
  std::vector<int> result;
  for (int i = 1; i <= last; ++i) result.push_back(i);
  return result;
}

// The options of the run "r", which goes on until it is stopped.
inline const Words kEndless = "--max_iterations 1000000000 --ppo.schedule fixed --run_name r --save_interval 10"_words;

// drl_train with such a run. The constructor waits until it has saved a checkpoint.
class EndlessRun : public Process {
 public:
  explicit EndlessRun(const Runs& runs, const Words& more = {}, const Variables& variables = {},
                      const std::function<void()>& prepare = {})
      : Process(runs.command(kEndless + more), variables, prepare) {
    EXPECT_TRUE(wait_until([&] { return newest_checkpoint(runs.run("r")) > 0; })) << err();
  }
};

// Expects that metrics.csv has one row for each iteration up to that of the newest checkpoint.
inline void expect_rows_up_to_checkpoint(const fs::path& run) {
  EXPECT_EQ(iterations(run), count_to(newest_checkpoint(run)));
}

// The module of drl that opens libtorch, for --nets torch.
inline const std::string kTorchModule = built("lib/drl/drl_torch.so");
inline bool built_with_torch() { return fs::exists(kTorchModule); }

}  // namespace drl::test

// One process per device, for all launch lines: real srun, sbatch, salloc and mpirun on two nodes with 4 simulated GPUs
// each. The programs compute on the CPU.
#include <csignal>
#include <cstdlib>
#include <set>

#include "base/text.hpp"
#include "slurm.hpp"

namespace drl::test {
namespace {

const Words kShort = "--max_iterations 3 --logger none"_words;
const Words kEndless = "--max_iterations 1000000000 --save_interval 10 --logger none"_words;
const Words kReadmeCommand = "srun -N2 --gpus-per-node=4"_words;  // 2 tasks see 8 GPUs
const Words kFourEach = "node1 node1 node1 node1 node2 node2 node2 node2"_words;

const char* const kRelaunch = "srun again";  // drl_train prints this when it starts itself again by srun
const char* const kBanner = "learning Cartpole";

std::string all(const Result& result) { return result.out + result.err; }
bool was_relaunched(const Result& result) { return holds(all(result), kRelaunch); }

Words lines(const std::string& text) {
  Words found = split(text, '\n');
  std::erase(found, "");
  return found;
}

int node_cores() { return std::stoi(output_of("sinfo -hN -p normal -n node1 -o %c"_words)); }
// Returns the number of cores of this machine, which both nodes share.
int physical_cores() {
  const Words cores = lines(run_shell("lscpu -p=Core,Socket | grep -v '^#'").out);
  return static_cast<int>(std::set<std::string>(cores.begin(), cores.end()).size());
}
// Options for launch lines with more tasks than the nodes have cores.
Words overcommit() { return node_cores() < 8 ? Words{"--overcommit"} : Words{}; }

class Launch : public SlurmTest {
 protected:
  Words words(const Words& launcher, const Words& options) const { return launcher + runs.command(options); }
  Result run(const Words& launcher, const Words& options = kShort) const {
    return run_for_long(words(launcher, options));
  }
  // Returns the command as text for a shell. The options must not need quotes.
  std::string command_line(const Words& options = kShort) const { return join(runs.command(options), " "); }

  Words run_names() const {
    Words names = runs.names();
    std::erase(names, "latest");
    return names;
  }
  nlohmann::json only_run() const {
    const Words names = run_names();
    EXPECT_EQ(names.size(), 1u) << join(names, " ");
    return names.empty() ? nlohmann::json() : run_json(runs.run(names.front()));
  }
  // Runs a batch job with these options of sbatch, which must succeed with a rank on each of `hosts`. Returns its log.
  std::string run_in_batch(const Words& options, const std::string& script, const Words& hosts) const {
    const std::string log = folder / "log", job = submit(options + Words{"-o", log, "--wrap", script});
    EXPECT_TRUE(wait_for_end(job));
    EXPECT_EQ(job_state(job), "COMPLETED") << slurp(log);
    EXPECT_EQ(rank_hosts(), hosts) << slurp(log);
    return slurp(log);
  }
  // Expects that no run was begun, and that the error shows the command once.
  void expect_command(const Result& result, const std::string& command) const {
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(count_of(result.err, command), 1) << result.err;
    EXPECT_FALSE(fs::exists(runs.path()));
  }
  // Returns the value of an option in options.ini.
  std::string option_of(const std::string& run, const std::string& option) const {
    for (const std::string& line : lines(slurp(runs.run(run) / "options.ini")))
      if (line.starts_with(option + " ")) return line.substr(line.find('=') + 1);
    return "";
  }
  Words rank_hosts() const { return only_run().at("rank_hosts").get<Words>(); }

  // Expects that the command succeeded, and made one run with a rank on each of `hosts`.
  void expect_ranks(const Result& result, const Words& hosts) const {
    ASSERT_EQ(result.exit_code, 0) << all(result);
    EXPECT_EQ(rank_hosts(), hosts) << all(result);
    EXPECT_EQ(only_run().at("world_size"), hosts.size());
    EXPECT_EQ(count_of(result.out, kBanner), 1) << result.out;
    EXPECT_EQ(only_run().at("status"), "done");
  }

  bool is_under_way() const {
    return fs::exists(runs.path() / runs.task) && !run_names().empty() &&
           newest_checkpoint(runs.run(run_names().front())) > 0;
  }
  // Returns the process of rank `rank` of the run, not a process that only waits for the ranks that it started.
  pid_t process_of(int rank) const {
    for (pid_t pid : runs.processes('\0' + ("SLURM_PROCID=" + std::to_string(rank)) + '\0')) {
      const std::string environ = slurp("/proc/" + std::to_string(pid) + "/environ");
      if (slurp("/proc/" + std::to_string(pid) + "/comm") == "drl_train\n" &&
          (!relaunched_ || holds(environ, '\0' + std::string("DRL_OUTER_STEP="))))
        return pid;
    }
    return -1;
  }

  Runs runs;
  bool relaunched_ = true;  // whether drl_train starts itself again
};

// --- Commands for which drl_train starts itself again ---

TEST_F(Launch, TheReadmeCommandUsesAllGpus) {
  const Result result = run(kReadmeCommand);
  expect_ranks(result, kFourEach);
  EXPECT_EQ(count_of(all(result), kRelaunch), 1) << all(result);
  EXPECT_EQ(only_run().at("launcher"), "srun");
}

struct Line {
  std::string name;
  Words launcher, options, hosts;  // of the ranks
  bool relaunched = true;
};
void PrintTo(const Line& line, std::ostream* out) { *out << join(line.launcher + line.options, " "); }

class LaunchLine : public Launch, public ::testing::WithParamInterface<Line> {};

TEST_P(LaunchLine, HasTheseRanks) {
  const Line& line = GetParam();
  if (node_cores() < 2 && line.name == "CpusPerTaskAreUsedByThreads") GTEST_SKIP() << "needs nodes of 2 cores";
  const Result result = run(line.launcher, kShort + line.options);
  expect_ranks(result, line.hosts);
  EXPECT_EQ(was_relaunched(result), line.relaunched);
}

const Words kTwoEach = "node1 node1 node2 node2"_words, kOneEach = "node1 node2"_words;

INSTANTIATE_TEST_SUITE_P(
    , LaunchLine,
    ::testing::Values(Line{"OneNode", "srun --gpus-per-node=4"_words, {}, "node1 node1 node1 node1"_words},
                      Line{"GpusOfTheWholeJob", "srun -N2 --gpus=8"_words, {}, kFourEach},
                      Line{"SrunInSalloc", "salloc -N2 --gpus-per-node=4 srun"_words, {}, kFourEach},
                      Line{"FewerTasksThanGpus", "srun -N2 --ntasks-per-node=2 --gpus-per-node=4"_words, {}, kFourEach},
                      Line{"OnlyTheGpusOfTheStep",
                           "salloc -N2 --gpus-per-node=4 srun -N1 -n1 -w node2 --gpus-per-node=2"_words,
                           {},
                           "node2 node2"_words},
                      Line{"CpusPerTaskAreUsedByThreads", "srun -N2 -c2"_words, {}, kOneEach, false},
                      Line{"DeviceCpuIgnoresGpus", kReadmeCommand, "--device cpu"_words, kOneEach, false},
                      Line{"RanksOverridesTheNumberOfDevices", kReadmeCommand, "--ranks 4"_words, kTwoEach},
                      Line{"UnequalNumbersOfRanks", kReadmeCommand, "--ranks 3"_words, "node1 node1 node2"_words},
                      Line{"AsManyRanksAsTasks", kReadmeCommand, "--ranks 2"_words, kOneEach, false},
                      Line{"RanksOneKeepsOneDevicePerTask", kReadmeCommand, "--ranks 1"_words, kOneEach, false}),
    [](const auto& info) { return info.param.name; });

TEST_F(Launch, SrunInABatchScriptUsesAllGpus) {
  run_in_batch("-N2 --gpus-per-node=4"_words, "srun " + command_line(), kFourEach);
}

TEST_F(Launch, WithoutGpusEachCoreGetsARank) {
  const int cores = std::min(node_cores(), physical_cores());
  if (cores > 8) GTEST_SKIP() << "that would be " << 2 * cores << " ranks";
  Words hosts;
  for (const char* node : {"node1", "node2"}) hosts.insert(hosts.end(), static_cast<size_t>(cores), node);
  expect_ranks(run({"srun", "-N2", "--exclusive"}), hosts);
}

// --- A relaunch behaves like a direct start: exit codes, signals, output ---

TEST_F(Launch, AWrongOptionIsReportedOnce) {
  const Result result = expect_exit(run(kReadmeCommand, {"--num_envs", "0"}), 2);
  EXPECT_EQ(count_of(all(result), "num_envs"), 1) << all(result);
  EXPECT_FALSE(fs::exists(runs.path()));
}

// The ranks find this error, not the processes that start them.
TEST_F(Launch, AMissingRunIsReportedOnce) {
  const Result result = expect_exit(run(kReadmeCommand, kShort + "--load_run nowhere"_words), 2);
  EXPECT_EQ(count_of("\n" + all(result), "\nerror: "), 1) << all(result);
  EXPECT_TRUE(holds(all(result), "nowhere")) << all(result);
}

class LaunchSignals : public Launch {
 protected:
  // Starts a run by the README's command, lets `send` send it a signal, and expects that it saves and exits with this
  // code.
  void expect_stop(const std::function<void(const Process&)>& send, int exit_code) {
    Process process(words(kReadmeCommand, kEndless));
    ASSERT_TRUE(wait_until([&] { return is_under_way(); })) << process.out() << process.err();
    send(process);
    const Result result = process.wait(kLong);
    EXPECT_EQ(result.exit_code, exit_code) << all(result);
    const fs::path run = runs.run(run_names().at(0));
    EXPECT_EQ(run_json(run).at("status"), "stopped");
    EXPECT_EQ(iterations(run), count_to(newest_checkpoint(run)));
    EXPECT_EQ(count_of(result.out, kBanner), 1);
    EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }));
  }
  static void scancel(const std::string& signal) {
    output_of({"scancel", "--signal=" + signal, lines(output_of("squeue -h -o %i"_words)).at(0)});
  }
};

TEST_F(LaunchSignals, Usr1ToSrunExitsWith75) {
  expect_stop([](const Process& srun) { srun.signal(SIGUSR1); }, 75);
}
TEST_F(LaunchSignals, Usr1ByScancelExitsWith75) {
  expect_stop([](const Process&) { scancel("USR1"); }, 75);
}
// Both the ranks and the tasks that wait for them get the signal.
TEST_F(LaunchSignals, Usr2ByScancelExitsWith75) {
  expect_stop([](const Process&) { scancel("USR2"); }, 75);
}
TEST_F(LaunchSignals, TermByScancelExitsWith143) {
  expect_stop([](const Process&) { scancel("TERM"); }, 143);
}
// The ranks are in another step. The task that waits for them forwards the signal.
TEST_F(LaunchSignals, TermToTheWaitingStepReachesTheRanks) {
  expect_stop(
      [](const Process&) {
        output_of({"scancel", "--signal=TERM", lines(output_of("squeue -h -o %i"_words)).at(0) + ".0"});
      },
      143);
}
TEST_F(LaunchSignals, IntByScancelExitsWith130) {
  expect_stop([](const Process&) { scancel("INT"); }, 130);
}

// As the shell of a job does. srun kills its tasks on these signals, so the starting process passes them on.
TEST_F(LaunchSignals, ReachRanksOfTheOptionRanks) {
  relaunched_ = false;
  for (const auto& [signal, code] : {std::pair(SIGUSR2, 75), std::pair(SIGINT, 130), std::pair(SIGHUP, 143)}) {
    const Runs own;
    Process salloc(Words{"salloc", "-N2", "-n2", "sh", "-c",
                         "echo $$ > " + (own.folder / "pid").string() + "; exec \"$@\"", "sh"} +
                   own.command(kEndless + "--run_name r --ranks 2"_words));
    ASSERT_TRUE(wait_until([&] { return newest_checkpoint(own.run("r")) > 0; })) << salloc.out() << salloc.err();
    ::kill(std::stoi(slurp(own.folder / "pid")), signal);
    const Result result = salloc.wait(kLong);
    EXPECT_EQ(result.exit_code, code) << all(result);
    EXPECT_EQ(iterations(own.run("r")), count_to(newest_checkpoint(own.run("r"))));
  }
}

// A task library raises SIGUSR1 in the processes that start the ranks, while they load it. They pass it on at once, to
// srun or to ranks that have no handlers yet.
TEST_F(LaunchSignals, BeforeThereAreRanksExitWith75) {
  Process process(
      words(kReadmeCommand, kEndless + Words{"--task_library", built("tests/envs/libraries/libbroken_signal.so")}),
      {{"RAISE", std::to_string(SIGUSR1)}});
  const Result result = process.wait(kLong);
  EXPECT_EQ(result.exit_code, 75) << all(result);
  EXPECT_TRUE(was_relaunched(result)) << all(result);
}

// The first Ctrl-C makes srun print the state of the tasks, as usual.
TEST_F(LaunchSignals, FirstCtrlCOnlyPrintsStatus) {
  expect_stop(
      [](const Process& srun) {
        srun.signal(SIGINT);
        EXPECT_TRUE(wait_until([&] { return holds(srun.err(), "interrupt"); })) << srun.err();
        scancel("USR1");
      },
      75);
}

TEST_F(Launch, AKilledRankEndsAllRanksInTenSeconds) {
  Process process(words(kReadmeCommand, kEndless));
  ASSERT_TRUE(wait_until([&] { return is_under_way(); })) << process.out() << process.err();
  const pid_t rank = process_of(5);
  ASSERT_GT(rank, 0);
  ::kill(rank, SIGKILL);
  const Result result = process.wait(10);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.exit_code, 75);
  EXPECT_TRUE(holds(result.err, "node2: task 5: Killed")) << result.err;
  EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }, 10));
}

TEST_F(Launch, AKilledWaitingTaskEndsAllRanks) {
  Process process(words(kReadmeCommand + Words{"--kill-on-bad-exit=1"}, kEndless));
  ASSERT_TRUE(wait_until([&] { return is_under_way(); })) << process.out() << process.err();
  int killed = 0;
  for (pid_t pid : runs.processes('\0' + std::string("SLURM_NTASKS=2") + '\0'))
    if (slurp("/proc/" + std::to_string(pid) + "/environ").find("SLURM_PROCID=1") != std::string::npos)
      killed += ::kill(pid, SIGKILL) == 0;
  ASSERT_EQ(killed, 1);
  const Result result = process.wait(20);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(holds(result.err, "node2: task 1: Killed")) << result.err;
  EXPECT_TRUE(wait_until([&] { return runs.processes().empty(); }, 20));
}

// WaitTime is 5 s in all of these tests: srun kills tasks that still run 5 s after the first task has ended.
TEST_F(Launch, WaitTimeDoesNotEndTheRun) {
  for (const Words& option : {Words{}, Words{"-W5"}}) {
    const Runs own;
    Process process(kReadmeCommand + option + own.command(kEndless + "--run_name r"_words));
    ASSERT_TRUE(wait_until([&] { return newest_checkpoint(own.run("r")) > 0; })) << process.err();
    run_program("sleep 8"_words);
    ASSERT_TRUE(process.running()) << process.out() << process.err();
    spill(own.run("r") / "STOP", "");
    EXPECT_EQ(process.wait(kLong).exit_code, 75) << process.err();
  }
}

// --- Launch lines with one task per device ---

class DirectLaunch : public Launch, public ::testing::WithParamInterface<Words> {};

TEST_P(DirectLaunch, IsOneRankPerTask) {
  if (node_cores() < 4 && holds(join(GetParam(), " "), "--ntasks-per-node")) GTEST_SKIP() << "needs nodes of 4 cores";
  const Words launcher = Words{"srun"} + GetParam() + overcommit();
  Words hosts = lines(output_of(launcher + Words{"hostname"}));  // Slurm places both commands in the same way
  std::sort(hosts.begin(), hosts.end());
  ASSERT_TRUE(wait_for_idle_cluster());
  const Result result = run(launcher);
  expect_ranks(result, hosts);
  EXPECT_FALSE(was_relaunched(result));
}

INSTANTIATE_TEST_SUITE_P(Srun, DirectLaunch,
                         ::testing::Values("-N2 -n8 --ntasks-per-node=4 --gpus-per-node=4"_words,
                                           "-n8 --gpus-per-task=1"_words,
                                           "-N2 -n8 --ntasks-per-node=4 --gpus-per-task=1 --gpu-bind=none"_words,
                                           "-N2 -n8"_words,  // 7 + 1 if nodes have 8 cores
                                           "-n1 --gpus=1"_words, Words{"-n3"}));

TEST_F(Launch, DirectStartsAlsoStopOnSignals) {
  relaunched_ = false;
  Process process(words("srun -N2 --ntasks-per-node=2"_words + overcommit(), kEndless));
  ASSERT_TRUE(wait_until([&] { return is_under_way(); })) << process.out() << process.err();
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait(kLong).exit_code, 75) << process.err();
}

// Steps of one job at the same time. The option of the step must be of the same kind as that of the job: in a job with
// --gpus-per-node=4, srun reads this option from its environment again, so that `srun --gpus=1` gets 4 GPUs.
struct Packed {
  std::string job_option, step_option;
  int steps, ranks;
};
class PackedSteps : public Launch, public ::testing::WithParamInterface<Packed> {};

TEST_P(PackedSteps, AreSeparateRuns) {
  if (node_cores() < 4) GTEST_SKIP() << "needs nodes of 4 cores";
  const auto& [job_option, step_option, steps, ranks] = GetParam();
  std::string script;
  std::set<int> seeds, trained;
  for (int seed = 1; seed <= steps; ++seed) {
    script += "srun --exact -N1 -n1 " + step_option + " " + command_line() + " --seed " + std::to_string(seed) + " & ";
    seeds.insert(seed);
  }
  const std::string log = folder / "log";
  const std::string job = submit({"-N1", "-n4", job_option, "-o", log, "--wrap", script + "wait"});
  ASSERT_TRUE(wait_for_end(job));
  for (const std::string& name : run_names()) {
    EXPECT_EQ(run_json(runs.run(name)).at("world_size"), ranks) << name;
    EXPECT_EQ(run_json(runs.run(name)).at("status"), "done") << name;
    trained.insert(std::stoi(option_of(name, "seed")));
  }
  EXPECT_EQ(static_cast<int>(run_names().size()), steps) << slurp(log);
  EXPECT_EQ(trained, seeds) << slurp(log);
  EXPECT_EQ(holds(slurp(log), kRelaunch), ranks > 1) << slurp(log);
}

INSTANTIATE_TEST_SUITE_P(Srun, PackedSteps,
                         ::testing::Values(Packed{"--gpus-per-node=4", "--gpus-per-node=1", 4, 1},
                                           Packed{"--gpus=4", "--gpus=1", 4, 1},
                                           Packed{"--gres=gpu:4", "--gpus-per-task=1", 4, 1},
                                           Packed{"--gpus-per-node=4", "--gpus-per-node=2", 2, 2}));

// --- mpirun, and no launcher ---

TEST_F(Launch, MpirunInABatchScriptNeedsNoRelaunch) {
  const std::string log = run_in_batch("-N2 --ntasks-per-node=2 --gpus-per-node=4"_words + overcommit(),
                                       "mpirun --oversubscribe -n 4 --map-by ppr:2:node " + command_line(), kTwoEach);
  EXPECT_EQ(only_run().at("launcher"), "mpirun");
  EXPECT_FALSE(holds(log, kRelaunch)) << log;
}

TEST_F(Launch, MpirunInSallocStartsItsRanks) {
  expect_ranks(run("salloc -N2 --ntasks-per-node=2"_words + overcommit() +
                   "mpirun --oversubscribe -n 4 --map-by ppr:2:node"_words),
               {"node1", "node1", "node2", "node2"});
}

TEST_F(Launch, PlainStartInABatchScriptIsOneRankWithAHint) {
  expect_mentions(run_in_batch("-N2 --gpus-per-node=4"_words, command_line(), {"node1"}), {"8 GPUs", "srun " + kTrain});
}

TEST_F(Launch, PlainStartInSallocIsOneRankWithAHint) {
  const Result result = run({"salloc", "-N2", "--gpus-per-node=4"});
  expect_ranks(result, {"login"});
  expect_mentions(all(result), {"8 GPUs", "srun " + kTrain});
}

TEST_F(Launch, RanksStartedInABatchScriptUseAllNodes) {
  run_in_batch("-N2 --gpus-per-node=4"_words, command_line() + " --ranks 8", kFourEach);
}

// --- Errors that show the command to type ---

// Returns the last line that a message proposes, which begins with "  srun ".
std::string proposed(const std::string& message) {
  const size_t begin = message.rfind("\n  srun ") + 3;
  return message.substr(begin, message.find('\n', begin) - begin);
}

// The job's components have 2 tasks and 1, or a node each. What the error proposes is then run. srun itself is not
// waited for: that of Slurm 22.05 may not end after a step of several components, because its PMIx plugin waits for a
// thread that it has already ended (pmixp_abort_agent_stop).
TEST_F(Launch, InAHeterogeneousJobTheErrorShowsTheCommandThatWorks) {
  const std::string train = shell_line(runs.command("--device cpu --max_iterations 2"_words)),
                    job = "salloc -N1 -n2 : -N1 -n1 ", nodes = "salloc -N1 --exclusive : -N1 --exclusive ";
  for (const auto& [allocation, command, world] :
       {std::tuple{job, train + " --ranks 3", 3},
        {nodes, train + " --ranks 4", 4},
        {nodes, "srun --mpi=pmix --het-group=0,1 " + train + " --ranks 6", 6}}) {
    Process refused({"bash", "-c", allocation + command});
    ASSERT_TRUE(wait_until([&] { return holds(refused.err(), "\n  srun "); }, kLong)) << refused.err();
    expect_mentions(refused.err(), {"heterogeneous", "--het-group"});
    const std::string line = proposed(refused.err());
    run_shell("squeue -h -o %i | xargs -r scancel");
    Process started({"bash", "-c", allocation + "bash -c " + shell_line({line})});
    EXPECT_TRUE(wait_until([&] { return holds(started.out(), "done at iteration 2"); }, kLong)) << started.err();
    expect_mentions(started.out(), {std::to_string(world) + " ranks on node1, node2"});
    run_shell("squeue -h -o %i | xargs -r scancel");
  }
}

TEST_F(Launch, TasksThatAreNotConnectedAreRefused) {
  for (const char* plugin : {"none", "pmi2"}) {
    expect_command(expect_exit(run({"srun", "-N2", "-n2", std::string("--mpi=") + plugin}), 2), "--mpi=pmix");
  }
}

const std::string kDirectCommand = "srun -N2 --ntasks-per-node=4 --gpus-per-node=4 ";

TEST_F(Launch, WithoutSrunInTheStepOrIfSrunFailsTheErrorShowsTheDirectCommand) {
  for (const Words& change : {"env PATH=/nowhere"_words, "env SLURM_JOB_ID=4711"_words})
    expect_command(expect_exit(run(kReadmeCommand + change), 2), kDirectCommand + kTrain);
}

// One node has 4 GPUs, and the other has 2.
TEST_F(Launch, UnequalGpusWorkOrTheErrorShowsTheDirectCommand) {
  const Result result = run({"srun", "-N2", "--gpus=6"});
  if (result.exit_code == 0)
    EXPECT_EQ(rank_hosts().size(), 6u);
  else
    EXPECT_TRUE(result.exit_code == 2 && count_of(result.err, "srun -N2 --ntasks-per-node=3 --gpus-per-node=3") == 1)
        << result.err;
}

// The first step had all four GPUs of node2, and the second got only two, which rank 0 cannot see.
TEST_F(Launch, ANodeThatLostGpusIsReported) {
  const Result result = run({"env", "DRL_OUTER_STEP=node1:0,1:8;node2:0,1,2,3:8", "DRL_SLURM_VERSION=slurm 22.05.8",
                             "DRL_DIRECT_LINE=" + kDirectCommand + kTrain, "srun", "-N2", "--kill-on-bad-exit=1",
                             "--ntasks-per-node=2", "--gpus-per-node=2", "--overcommit"});
  expect_command(result, kDirectCommand + kTrain);
  EXPECT_EQ(count_of(result.err, "GPUs 0,1 of node2"), 1) << result.err;
  expect_mentions(result.err, {"26.05.3"});
}

// Steps cannot share GPUs before Slurm 22.05.
TEST_F(Launch, WithAnOlderSlurmTheErrorShowsTheDirectCommand) {
  write_program(folder / "srun", "echo slurm 21.08.8-2");
  const Words env = {"env", "PATH=" + folder.path().string() + ":" + std::getenv("PATH")};
  expect_command(expect_exit(run(kReadmeCommand + env), 2, {"22.05", "slurm 21.08.8-2"}), kDirectCommand + kTrain);
}

// --- Binding ---

class Binding : public Launch {
 protected:
  static std::string cores_of(pid_t pid) {
    for (const std::string& line : lines(slurp("/proc/" + std::to_string(pid) + "/status")))
      if (line.starts_with("Cpus_allowed_list:")) return line.substr(line.find_last_of('\t') + 1);
    return "";
  }
  // Expects that each of ranks 0 to 3, two on each node, is bound to one core, and that ranks of a node have different
  // cores.
  void expect_two_cores_on_each_node(const Words& launcher) {
    if (std::min(node_cores(), physical_cores()) < 2) GTEST_SKIP() << "needs 2 cores";
    Process process(words(launcher, kEndless));
    ASSERT_TRUE(wait_until([&] { return is_under_way(); })) << process.out() << process.err();
    Words cores;
    for (int rank = 0; rank < 4; ++rank) cores.push_back(cores_of(process_of(rank)));
    EXPECT_FALSE(cores[0].empty());
    EXPECT_NE(cores[0], cores[1]);
    EXPECT_NE(cores[2], cores[3]);
    for (const std::string& list : cores)
      EXPECT_EQ(list.find_first_of(",-"), std::string::npos) << list << " is one core";
    EXPECT_FALSE(holds(process.err(), "share")) << process.err();
    process.signal(SIGUSR1);
    process.wait(kLong);
  }
};

TEST_F(Binding, RelaunchedRanksHaveSeparateCores) {
  expect_two_cores_on_each_node({"srun", "-N2", "-c2", "--gpus-per-node=2"});
}

TEST_F(Binding, RanksStartedBySrunHaveSeparateCores) {
  relaunched_ = false;
  expect_two_cores_on_each_node({"srun", "-N2", "--ntasks-per-node=2"});
}

TEST_F(Binding, RanksThatShareCoresAreReported) {
  const Result result = run(kReadmeCommand);  // one core per node
  EXPECT_TRUE(holds(result.err, "share 1 core of node1")) << result.err;
}

}  // namespace
}  // namespace drl::test

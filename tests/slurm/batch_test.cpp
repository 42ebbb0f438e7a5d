// Each script of batch/, submitted unchanged to a real Slurm.
#include "batch.hpp"

#include <regex>

namespace drl::test {
namespace {

const Words kScripts = "train_2node.sbatch sweep.sbatch eval.sbatch"_words;

TEST_F(BatchTest, TwoNodesUseAllGpus) {
  const std::string job = complete(Words{kBatch + "train_2node.sbatch"} + small_run(2) + "--seed 3"_words);
  const nlohmann::json record = run_json(run("slurm-" + job));
  EXPECT_EQ(record["world_size"], 8);
  EXPECT_EQ(record["hosts"].size(), 2);
  expect_mentions(slurp(run("slurm-" + job) / "options.ini"), {"\nseed = 3 "});
  expect_mentions(log_of(job), {"8 ranks on node1, node2"});
  EXPECT_EQ(log_of(job).find("srun again"), std::string::npos)
      << "the script should start all ranks itself: " << log_of(job);
}

TEST_F(BatchTest, OptionsOfSbatchSetNodesAndGpus) {
  const std::string job = complete(Words{"-N1", "--gpus-per-node=2", kBatch + "train_2node.sbatch"} + small_run(2));
  expect_mentions(log_of(job), {"2 ranks on node1"});
}

TEST_F(BatchTest, CpuRanksHaveOneCoreEachOrAsManyAsRequested) {
  const std::string cores = complete(Words{"-N1", kBatch + "train_2node.sbatch"} + small_run(1) + "--device cpu"_words);
  expect_mentions(log_of(cores), {"8 ranks on node1"});
  const std::string wide =
      complete(Words{"-N1", "-c", "4", kBatch + "train_2node.sbatch"} + small_run(1) + "--device cpu"_words);
  expect_mentions(log_of(wide), {"2 ranks on node1"});
}

// On shared nodes, a job gets only what it requests.
TEST_F(BatchTest, TheVariantForSharedNodesWorks) {
  std::string script = slurp(kBatch + "train_2node.sbatch");
  const std::string shared = "##SBATCH --ntasks-per-node=4 --cpus-per-task=8 --gpus-per-node=4";
  expect_mentions(script, {shared});
  script.replace(script.find(shared), shared.size(), "#SBATCH --ntasks-per-node=2 --cpus-per-task=2 --gpus-per-node=2");
  script = std::regex_replace(script, std::regex("#SBATCH --exclusive.*"), "");
  spill(folder / "shared.sbatch", script);
  const std::string job = complete("-N1 shared.sbatch"_words + small_run(1));
  expect_mentions(log_of(job), {"2 ranks on node1"});
  EXPECT_EQ(job_field(job, "NumCPUs"), "4");
}

TEST_F(BatchTest, AScriptCopiedAloneReadsTheSiteSettingsBesideIt) {
  fs::create_directories(folder / "my scripts");
  fs::copy(kBatch + "train_2node.sbatch", folder / "my scripts");
  spill(folder / "my scripts/site.sh", "export DRL_RUNS_DIR=$HOME/elsewhere\necho $not_set_is_fine\n");
  const std::string job = complete(Words{"-N1", "--gpus-per-node=1", "my scripts/train_2node.sbatch"} + small_run(1) +
                                   Words{"--run_name", "two words"});
  EXPECT_TRUE(fs::exists(folder / "elsewhere/CartPole-v1/two words/run.json"));
}

TEST_F(BatchTest, TheUsersSettingsSayWhereDrlIs) {
  ::unsetenv("DRL_BIN");
  fs::create_directories(folder / ".config/drl");
  spill(folder / ".config/drl/site.sh", "echo read; export PATH=" + bin("") + ":$PATH");
  const std::string job = complete(Words{"-N1", "--gpus-per-node=1", kBatch + "train_2node.sbatch"} + small_run(1));
  EXPECT_TRUE(log_of(job).starts_with("read\n")) << log_of(job);
}

// With sbatch --export=LIST or NONE, srun passes on that list only, and not what the script has set.
TEST_F(BatchTest, RanksGetTheScriptsSettingsWhateverSbatchExports) {
  fs::create_directories(folder / ".config/drl");
  spill(folder / ".config/drl/site.sh", "export DRL_RUNS_DIR=$HOME/elsewhere\n");
  const std::string variables = "DRL_BIN=" + bin("") + ",HOME=" + folder.path().string();
  const std::string job = complete(Words{"-N2", "--export=" + variables, kBatch + "train_2node.sbatch"} + small_run(1));
  EXPECT_EQ(run_json(folder / "elsewhere/CartPole-v1" / ("slurm-" + job))["world_size"], 8);
}

TEST_F(BatchTest, LaterSiteSettingsOverrideEarlierOnes) {
  fs::create_directories(folder / ".config/drl");
  spill(folder / ".config/drl/site.sh", "word=user");
  spill(folder / "named", "echo $word before the named; exit 8");
  const std::string job = submit({"--output=drl-%j.out", kBatch + "eval.sbatch"}, {{"DRL_SITE", folder / "named"}});
  EXPECT_EQ(log_of_failure(job, 8), "user before the named\n");
}

TEST_F(BatchTest, AnInstalledTreeFindsItsOwnPrograms) {
  ::unsetenv("DRL_BIN");
  output_of({"cmake", "--install", built(""), "--prefix", folder / "tree"});
  const std::string job =
      complete(Words{"-N1", "--gpus-per-node=1", folder / "tree/share/drl/batch/train_2node.sbatch"} + small_run(1));
  for (const char* program :
       {"drl_train", "drl_eval", "drl_job", "drl_geometry", "drl_requeue", "drl_sbatch", "drl_sbcast"})
    EXPECT_TRUE(fs::exists(folder / "tree/bin" / program));
  for (const std::string& script : kScripts) EXPECT_TRUE(fs::exists(folder / "tree/share/drl/batch" / script));
}

// Looks at rank 0's program and the libraries that it has opened. One of them is not in a system directory.
TEST_F(BatchTest, SbcastMakesNodesRunACopyOfTheInstallation) {
  ::unsetenv("DRL_BIN");
  output_of({"cmake", "--install", built(""), "--prefix", folder / "tree"});
  fs::create_directories(folder / "tree/lib/drl/tasks");
  fs::copy(kTestTasks, folder / "tree/lib/drl/tasks");
  const std::string library =
      run_shell("ldd " + kTrain + " | awk '/libboost_program_options/ { printf \"%s\", $3 }'").out;
  ASSERT_FALSE(library.empty());
  fs::create_directory(folder / "libraries");
  fs::copy(fs::canonical(library), folder / "libraries" / fs::path(library).filename());
  ::setenv("LD_LIBRARY_PATH", (folder / "libraries").c_str(), 1);
  ::setenv("DRL_SBCAST", "/dev/shm", 1);  // the only file system that each node of the cluster has for itself
  const std::string look =
      "readlink /proc/$PPID/exe; for library in libboost_program_options libtest_programs; do "
      "grep -o \"/[^ ]*$library.*\" /proc/$PPID/maps | sort -u; done; stat -c %A /dev/shm/drl-*";
  const std::string job =
      submit(Words{"--gpus-per-node=1", folder / "tree/share/drl/batch/train_2node.sbatch"} + small_run(1) +
             Words{"--task", "Ladder", "--after_checkpoint", "{ " + look + "; } >seen"});
  ::unsetenv("DRL_SBCAST");
  ::unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(completes(job));
  expect_mentions(log_of(job), {"2 ranks on node1, node2"});
  const Words seen = split(log("seen"), '\n');
  ASSERT_EQ(seen.size(), 5) << log("seen");
  EXPECT_TRUE(seen[0].starts_with("/dev/shm/drl-" + job + "-")) << seen[0];
  EXPECT_TRUE(seen[0].ends_with("/bin/drl_train")) << seen[0];
  EXPECT_EQ(seen[1], fs::path(seen[0]).parent_path().parent_path() / "lib" / fs::path(library).filename());
  EXPECT_EQ(seen[2], fs::path(seen[0]).parent_path().parent_path() / "lib/drl/tasks/libtest_programs.so");
  EXPECT_EQ(seen[3], "drwx------");
  EXPECT_EQ(run_shell("srun -N2 --ntasks-per-node=1 ls /dev/shm | grep ^drl-").out, "");
}

// The nodes share this directory, so the second node finds that the first has made the copy's directory already.
TEST_F(BatchTest, ACopyThatCannotBeMadeIsAWarning) {
  const std::string job = complete(Words{"--gpus-per-node=1", kBatch + "train_2node.sbatch"} + small_run(1),
                                   {{"DRL_SBCAST", folder.path()}});
  expect_mentions(log_of(job), {"drl_sbcast: ", folder.path().string() + "/drl-" + job});
}

// The second node has room for the archive and the directory to unpack it into, but not for a third file. The first
// node has unpacked it, and would keep it until the job's end.
TEST_F(BatchTest, ACopyThatOneNodeCannotUnpackIsAWarning) {
  const std::string storage = "/dev/shm/storage";
  output_of({"srun", "-N2", "mkdir", storage});
  output_of({"srun", "-N1", "-w", "node2", "mount", "-t", "tmpfs", "-o", "nr_inodes=3", "tmpfs", storage});
  const std::string job =
      complete(Words{"--gpus-per-node=1", kBatch + "train_2node.sbatch"} + small_run(1), {{"DRL_SBCAST", storage}});
  const std::string warning = log_of(job).substr(0, log_of(job).find('\n'));
  EXPECT_TRUE(warning.starts_with("drl_sbcast: ")) << warning;
  expect_mentions(warning, {storage + "/drl-" + job + "-", "(node2: tar: ", "No space left on device"});
  expect_mentions(log_of(job), {"2 ranks on node1, node2"});
  EXPECT_EQ(output_of({"srun", "-N2", "ls", "-A", storage}), "") << "files were left behind";
  output_of({"srun", "-N1", "-w", "node2", "umount", storage});
  output_of({"srun", "-N2", "rmdir", storage});
}

TEST_F(BatchTest, TheJobsOfASweepDivideItsRuns) {
  spill(folder / "runs.txt", "--seed 0\n--seed 1 --ppo.gamma 0.9\n--seed 2\n--seed 3\n--seed 4\n--task Ladder\n");
  const std::string array =
      submit(Words{"--array=0-1", kBatch + "sweep.sbatch", "--task_library", kTestTasks} + small_run(2),
             {{"DRL_SWEEP", "runs.txt"}, {"DRL_PACK", "2"}});
  for (const char* task : {"_0", "_1"})
    ASSERT_TRUE(completes(array + task)) << log("drl-sweep-" + array + task + ".out");
  for (int k = 0; k < 5; ++k) {
    const std::string name = "slurm-" + array + "_" + std::to_string(k), options = slurp(run(name) / "options.ini");
    expect_mentions(options, {"\nseed = " + std::to_string(k) + " ", k == 1 ? "\ngamma = 0.9 " : "\ngamma = 0.98 "});
    expect_mentions(log("drl-sweep-" + array + "_" + std::to_string(k) + ".log"), {"2 ranks on node"});
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "runs/CartPole-v1"), {}), 6);  // and "latest"
  expect_mentions(log("drl-sweep-" + array + "_5.log"), {"2 ranks on node"});
  expect_mentions(slurp(folder / "runs/Ladder" / ("slurm-" + array + "_5") / "run.json"),
                  {"libtest_programs.so (build "});
}

// Jobs whose runs share GPUs. The programs nvidia-cuda-mps-control and drl_train note their calls.
class SharedGpus : public BatchTest {
 protected:
  SharedGpus() {
    fs::create_directory(folder / "bin");
    for (const auto& program : fs::directory_iterator(bin("")))
      if (program.path().filename() != "drl_train")
        fs::create_symlink(program.path(), folder / "bin" / program.path().filename());
    write_program(folder / "bin" / "drl_train",
                  "[ -z \"${SLURM_STEP_ID:-}\" ] || echo \"$CUDA_VISIBLE_DEVICES $SLURM_CPUS_PER_TASK "
                  "${CUDA_MPS_PIPE_DIRECTORY:-none}\" >>" +
                      (folder / "runs_seen").string() + "\nexec " + kTrain + " \"$@\"");
  }
  // The daemon notes how it is started and what it is told, each with its directory.
  void make_mps() const {
    write_program(folder / "bin" / "nvidia-cuda-mps-control",
                  "[ \"$*\" = -d ] && said=start || read -r said\necho \"$said $CUDA_MPS_PIPE_DIRECTORY\" >>" +
                      (folder / "mps").string() + "\n[ -d \"$CUDA_MPS_LOG_DIRECTORY\" ]");
  }
  // Submits a job whose four runs share two GPUs.
  std::string start(int iterations) const {
    const std::string programs = folder / "bin";
    return submit(Words{"--array=0", "--gpus-per-node=2", kBatch + "sweep.sbatch"} + small_run(iterations),
                  {{"PATH", programs + ":" + std::getenv("PATH")},
                   {"DRL_BIN", programs},
                   {"DRL_SWEEP", "runs.txt"},
                   {"DRL_PACK", "4"}});
  }
  std::string run_name(const std::string& array, int k) const { return "slurm-" + array + "_" + std::to_string(k); }
  Words lines(const std::string& file) const {
    Words all = split(log(file), '\n');
    std::erase(all, "");
    return all;
  }
  Words sorted_lines(const std::string& file) const {
    Words all = lines(file);
    std::ranges::sort(all);
    return all;
  }
};

TEST_F(SharedGpus, HaveOneDaemonForAllRuns) {
  make_mps();
  // A killed job has left a directory, and another job still uses one.
  const fs::path left = "/tmp/drl-mps.left", used = "/tmp/drl-mps.used";
  for (const fs::path& old : {left, used}) fs::create_directory(old), spill(old / "start", "");
  const Process other({"flock", used.string(), "sleep", "1000"});
  ASSERT_TRUE(wait_until([&] { return run_program({"flock", "--nonblock", used.string(), "true"}).exit_code != 0; }));
  spill(folder / "runs.txt", "--seed 0\n--seed 1\n--seed 2 --ppo.reward_scale 1e38\n--seed 3\n--seed 4\n");
  const std::string array = start(2);
  ASSERT_TRUE(wait_for_end(array + "_0"));
  EXPECT_EQ(job_field(array + "_0", "ExitCode"), "1:0") << log("drl-sweep-" + array + "_0.out");
  for (int k = 0; k < 5; ++k) {
    const nlohmann::json record = run_json(run(run_name(array, k)));
    EXPECT_EQ(record["status"], k == 2 ? "failed" : "done")
        << log("drl-sweep-" + array + "_" + std::to_string(k) + ".log");
    EXPECT_EQ(record["world_size"], 1);
  }
  const Words mps = lines("mps");
  ASSERT_EQ(mps.size(), 2u) << log("mps");
  const std::string directory = mps[0].substr(mps[0].rfind(' ') + 1);
  EXPECT_EQ(mps, (Words{"start " + directory, "quit " + directory}));
  EXPECT_FALSE(fs::exists(directory)) << "the daemon's directory was left behind";
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(used));
  fs::remove_all(used);
  // Three runs have GPU 0, and each run has a quarter of the script's four CPUs.
  const std::string first = "0 1 " + directory, second = "1 1 " + directory;
  EXPECT_EQ(sorted_lines("runs_seen"), (Words{first, first, first, second, second}));
}

TEST_F(SharedGpus, WorkWithoutADaemon) {
  write_program(folder / "bin" / "nvidia-cuda-mps-control", "echo no driver; exit 1");
  spill(folder / "runs.txt", "--seed 0\n--seed 1\n--seed 2\n--seed 3\n");
  const std::string array = start(2), file = "drl-sweep-" + array + "_0.out";
  ASSERT_TRUE(completes(array + "_0")) << log(file);
  expect_mentions(log(file), {"drl_job: ", "take turns", "no driver", "nvidia-cuda-mps-control"});
  EXPECT_EQ(sorted_lines("runs_seen"), (Words{"0 1 none", "0 1 none", "1 1 none", "1 1 none"}));
}

// As with sbatch --signal=B:USR1@300, only the batch script gets the signal.
TEST_F(SharedGpus, SaveAndResumeAllRuns) {
  make_mps();
  spill(folder / "runs.txt", "--seed 0\n--seed 1\n--seed 2\n--seed 3\n");
  const std::string array = start(100000000), job = array + "_0";
  const auto all = [&](const auto& holds) {
    return wait_until(
        [&] {
          for (int k = 0; k < 4; ++k)
            if (!holds(run(run_name(array, k)))) return false;
          return true;
        },
        kLong);
  };
  ASSERT_TRUE(all([](const fs::path& path) { return fs::exists(path / "run.json") && !checkpoints(path).empty(); }));
  output_of({"scancel", "--signal=USR1", "--batch", job});
  ASSERT_TRUE(wait_until([&] { return job_field(job, "Restarts") == "1"; }, kLong)) << log("drl-sweep-" + job + ".out");
  EXPECT_TRUE(all([](const fs::path& path) { return fs::exists(path / "run.json") && run_json(path)["starts"] == 2; }))
      << log("drl-sweep-" + job + ".out");
  EXPECT_EQ(lines("mps").size(), 3u) << log("mps");  // started, ended and started again
}

TEST_F(BatchTest, EvaluatesARun) {
  expect_exit(run_program(Words{kTrain} + small_run(1) + "--run_name R"_words), 0);
  const std::string job = submit({kBatch + "eval.sbatch", "--run", "runs/CartPole-v1/R", "--episodes", "4"});
  ASSERT_TRUE(completes(job)) << log("drl-eval-" + job + ".out");
  EXPECT_TRUE(log("drl-eval-" + job + ".out").starts_with("return mean "));
}

TEST_F(BatchTest, OptionsOfSrunCanBeAdded) {
  expect_exit(run_program(Words{kTrain} + small_run(1) + "--run_name R"_words), 0);
  const std::string job = submit({kBatch + "eval.sbatch", "--run", "runs/CartPole-v1/R", "--episodes", "4"},
                                 {{"DRL_SRUN_OPTIONS", "--label --unbuffered"}});
  const std::string refused =
      submit(Words{"-N1", kBatch + "train_2node.sbatch"} + small_run(1), {{"DRL_SRUN_OPTIONS", "--no_such_option"}});
  ASSERT_TRUE(completes(job));
  EXPECT_TRUE(log("drl-eval-" + job + ".out").starts_with("0: return mean ")) << log("drl-eval-" + job + ".out");
  EXPECT_TRUE(wait_for_end(refused));
  EXPECT_EQ(job_state(refused), "FAILED");
  expect_mentions(log_of(refused), {"srun", "no_such_option"});
}

// Users edit the scripts, and should understand each line.
TEST_F(BatchTest, TheScriptsAreShort) {
  for (const std::string& script : kScripts) EXPECT_LE(std::ranges::count(slurp(kBatch + script), '\n'), 25) << script;
}

class BatchErrors : public BatchTest {
 protected:
  // Returns the log of a job that only runs drl_geometry.
  std::string geometry(const Words& options, const Process::Variables& variables = {}) {
    const Words job = Words{"--output=drl-%j.out"} + options + Words{"--wrap", bin("drl_geometry")};
    return log_of_failure(submit(job, variables), 2);
  }
};

TEST_F(BatchErrors, ReportNodesThatDiffer) {
  expect_mentions(geometry({"-N2", "-n3"}), {"drl_geometry: ", "2,1 CPUs", "--ntasks-per-node"});
  expect_mentions(geometry({"-N2", "-n3", "--gpus=3"}), {"drl_geometry: 2 nodes", " 2 each", "--gpus-per-node"});
}

TEST_F(BatchErrors, ReportTooFewCores) {
  expect_mentions(geometry({"-N1", "-n1", "--gpus-per-node=4"}),
                  {"drl_geometry: 4 ranks ", " 1 ", "--exclusive", "--ntasks-per-node", "--cpus-per-task"});
}

TEST_F(BatchErrors, ReportRunsThatCannotShareANode) {
  expect_mentions(geometry({"--exclusive"}, {{"DRL_PACK", "3"}}), {"drl_geometry: 3 runs ", "4 GPUs", "DRL_PACK"});
  expect_mentions(geometry({"-N2", "--exclusive"}, {{"DRL_PACK", "8"}}),
                  {"drl_geometry: 8 runs ", "4 GPUs", "2 nodes", "--nodes=1", "DRL_PACK=4"});
  expect_mentions(geometry({"--exclusive"}, {{"DRL_PACK", "many"}}), {"drl_geometry: DRL_PACK=many "});
}

TEST_F(BatchErrors, ReportAMissingJob) {
  expect_exit(run_program({bin("drl_geometry")}), 2, {"drl_geometry: ", "SLURM_JOB_ID", "sbatch"});
}

TEST_F(BatchErrors, ReportAMissingProgram) {
  ::unsetenv("DRL_BIN");
  fs::create_directory(folder / "alone");
  fs::copy(kBatch + "train_2node.sbatch", folder / "alone");
  expect_mentions(log_of_failure(submit({"-N1", folder / "alone/train_2node.sbatch"}), 2),
                  {"drl_job ", "DRL_BIN", "~/.config/drl/site.sh"});
}

TEST_F(BatchErrors, ReportADrlSiteThatDoesNotExist) {
  const std::string job = submit({"-N1", kBatch + "train_2node.sbatch"}, {{"DRL_SITE", "/nowhere/site.sh"}});
  expect_mentions(log_of_failure(job, 1), {"/nowhere/site.sh ", "DRL_SITE"});
}

TEST_F(BatchErrors, ReportAnEmptySweep) {
  const std::string array = submit({"--array=0", "--output=drl-%j.out", kBatch + "sweep.sbatch", "--task", "Cartpole"},
                                   {{"DRL_SWEEP", "/dev/null"}});
  expect_mentions(log_of_failure(array, 2), {"no runs", "DRL_SWEEP=/dev/null"});
}

TEST_F(BatchErrors, EndTheJobWithoutARequeue) {
  const std::string job = submit({"-N1", "--gpus-per-node=1", kBatch + "train_2node.sbatch", "--task", "Cartpol"});
  expect_mentions(log_of_failure(job, 2), {"drl_requeue 20", ": job " + job + " ", "exit code 2\n"});
  EXPECT_EQ(job_field(job, "Restarts"), "0");
}

}  // namespace
}  // namespace drl::test

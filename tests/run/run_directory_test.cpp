#include "run/run_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "placement/stop.hpp"
#include "run/run_manifest.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() { options.add_to(table); }

  RunStart start(const std::string& name) const {
    RunStart result;
    result.directory = folder / name;
    return result;
  }
  // Makes a run with these options, with an empty file for each checkpoint.
  fs::path make_run(const std::string& name, const std::vector<int64_t>& iterations) {
    const RunDirectory run(start(name));
    spill(run.path() / "options.ini", table.to_ini());
    for (int64_t iteration : iterations) spill(run.checkpoint(iteration), "");
    return run.path();
  }
  RunContext context() {
    options.run.runs_dir = folder.path().parent_path();
    return {folder.path().filename(), job, "now", continued};
  }
  RunStart plan() { return plan_run({options.run, table, context()}); }
  RunStart claim() { return claim_run({options.run, table, context()}); }

  TempFolder folder;  // the directory of a task's runs
  Options options;
  OptionTable table;
  std::string job;
  bool continued = false;
};

std::vector<std::string> names(const std::vector<fs::path>& files) {
  std::vector<std::string> result;
  for (const fs::path& file : files) result.push_back(file.filename());
  return result;
}

using Names = std::vector<std::string>;

TEST_F(RunDirectoryTest, CheckpointsAreListedNewestFirst) {
  const fs::path run = make_run("r", {5, 999999, 1000000, 20});
  spill(run / "checkpoints" / "iter_000030.h5.tmp", "");
  for (const char* name : {"notes.txt", "iter_000005-good.h5", "iter_000005 (copy).h5", "iter_latest.h5", "iter_.h5"})
    spill(run / "checkpoints" / name, "");
  EXPECT_EQ(names(list_checkpoints(run)),
            (Names{"iter_1000000.h5", "iter_999999.h5", "iter_000020.h5", "iter_000005.h5"}));
  EXPECT_TRUE(list_checkpoints(folder / "missing").empty());
}

TEST_F(RunDirectoryTest, FindsTheCheckpointOfAPath) {
  const fs::path run = make_run("r", {5, 20});
  EXPECT_EQ(find_checkpoint(run), run / "checkpoints" / "iter_000020.h5");
  EXPECT_EQ(find_checkpoint(run / "checkpoints" / "iter_000005.h5"), run / "checkpoints" / "iter_000005.h5");
  for (const char* directory : {"checkpoints", "checkpoints/"})
    EXPECT_EQ(find_checkpoint(run / directory), run / "checkpoints" / "iter_000020.h5");
  EXPECT_THROW(find_checkpoint(folder / "missing"), UsageError);
  EXPECT_THROW(find_checkpoint(make_run("empty", {})), UsageError);
}

TEST_F(RunDirectoryTest, OptionsThatAreMissingOrEmptyAreErrors) {
  const fs::path run = make_run("r", {5});
  EXPECT_EQ(recorded_options(run), table.to_ini());
  for (const bool is_missing : {false, true}) {
    is_missing ? static_cast<void>(fs::remove(run / "options.ini")) : spill(run / "options.ini", "");
    expect_mentions(error_from<UsageError>([&] { recorded_options(run); }),
                    {(run / "options.ini").string(), "--checkpoint " + run.string()});
  }
}

TEST_F(RunDirectoryTest, ValuesOfAnotherTypeInTheManifestCountAsMissing) {
  const fs::path run = make_run("r", {5});
  spill(run / "run.json",
        R"({"task": 7, "task_library": ["a"], "job_ids": 3, "starts": "x", "elapsed_seconds": null})");
  EXPECT_EQ(recorded_run(run).task, "");
  RunFacts facts;
  facts.task = "Cartpole";
  RunManifest(run / "run.json", facts, "now").write({}, "running");
  const nlohmann::json json = nlohmann::json::parse(slurp(run / "run.json"));
  EXPECT_EQ(json["task"], "Cartpole");
  EXPECT_EQ(json["starts"], 1);
}

// The name of a run stands for the only run of this name.
TEST_F(RunDirectoryTest, FindsTheCheckpointOfAName) {
  const TempFolder runs;
  setenv("DRL_RUNS_DIR", runs.path().c_str(), 1);
  const fs::path mine = runs / "Cartpole" / "mine", other = runs / "Pendulum-v1" / "mine";
  for (const fs::path& run : {mine, other}) fs::create_directories(run / "checkpoints");
  spill(mine / "checkpoints" / "iter_000005.h5", "");
  EXPECT_EQ(find_checkpoint("mine"), mine / "checkpoints" / "iter_000005.h5");
  EXPECT_THROW(find_checkpoint("other"), UsageError);
  const TempFolder elsewhere;  // a directory of runs that is given takes precedence over the variable
  const fs::path same = elsewhere / "Cartpole" / "mine";
  fs::create_directories(same / "checkpoints");
  spill(same / "checkpoints" / "iter_000008.h5", "");
  for (const char* name : {"mine", "Cartpole/mine"})
    EXPECT_EQ(find_checkpoint(name, elsewhere.path()), same / "checkpoints" / "iter_000008.h5");
  spill(other / "checkpoints" / "iter_000005.h5", "");
  EXPECT_THROW(find_checkpoint("mine"), UsageError);
  unsetenv("DRL_RUNS_DIR");
}

TEST_F(RunDirectoryTest, KeepsTheNewestAndTheBest) {
  const fs::path path = make_run("r", {1, 2, 3, 4, 5});
  const RunDirectory run(start("r"));
  run.mark_best(4);
  run.mark_best(2);
  run.prune(2, {path / "checkpoints" / "iter_000001.h5"});
  EXPECT_EQ(names(list_checkpoints(path)),
            (Names{"iter_000005.h5", "iter_000004.h5", "iter_000002.h5", "iter_000001.h5"}));
  run.prune(2, {});
  EXPECT_EQ(names(list_checkpoints(path)), (Names{"iter_000005.h5", "iter_000004.h5", "iter_000002.h5"}));
  EXPECT_EQ(fs::read_symlink(path / "checkpoints" / "best.h5"), "iter_000002.h5");
}

TEST_F(RunDirectoryTest, TakesAStopFileOnce) {
  const RunDirectory run(start("r"));
  EXPECT_FALSE(run.take_stop_request());
  spill(run.path() / "STOP", "");
  EXPECT_TRUE(run.take_stop_request());
  EXPECT_FALSE(run.take_stop_request());
}

TEST_F(RunDirectoryTest, IsLockedWhileItLives) {
  {
    const RunDirectory run(start("r"));
    EXPECT_THROW(RunDirectory(start("r")), UsageError);
  }
  const RunDirectory again(start("r"));
}

// Then the others of a group can resume each other's runs.
TEST_F(RunDirectoryTest, LocksHaveThePermissionsOfTheUmask) {
  const mode_t before = umask(002);
  const RunDirectory run(start("r"));
  umask(before);
  for (const auto& entry : fs::directory_iterator(run.path()))
    if (entry.path().filename().string().starts_with(".lock")) {
      EXPECT_EQ(entry.status().permissions(), fs::perms{0664}) << entry.path();
    }
}

TEST_F(RunDirectoryTest, AnUnusableLockIsNamed) {
  fs::create_directories(folder / "r" / ".lock");
  expect_mentions(error_from<UsageError>([&] { RunDirectory run(start("r")); }),
                  {(folder / "r" / ".lock").string(), "Is a directory"});
}

TEST_F(RunDirectoryTest, LatestStandsForTheRunOpenedLast) {
  make_run("a", {});
  make_run("b", {});
  EXPECT_EQ(run_of(folder / "latest"), folder / "b");
  EXPECT_EQ(run_of((folder / "latest").string() + "/"), folder / "b");
  make_run("a", {});
  EXPECT_EQ(run_of(folder / "latest"), folder / "a");
  EXPECT_EQ(run_of(folder / "a"), folder / "a");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a", "b", "latest"}));
}

// rsync -L and cp -L make a run of latest/.
TEST_F(RunDirectoryTest, ACopyOfARunThatIsCalledLatestStays) {
  make_run("a", {});
  fs::remove_all(folder / "latest");
  fs::create_directories(folder / "latest/checkpoints");
  spill(folder / "latest/checkpoints/iter_000007.h5", "");
  make_run("b", {});
  EXPECT_TRUE(fs::exists(folder / "latest/checkpoints/iter_000007.h5"));
  const RunDirectory opened(start("latest"));
  EXPECT_TRUE(fs::exists(folder / "latest/checkpoints/iter_000007.h5"));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a", "b", "latest"}));
}

// Earlier versions made a link.
TEST_F(RunDirectoryTest, LatestReplacesALink) {
  make_run("a", {});
  fs::remove_all(folder / "latest");
  fs::create_directory_symlink("a", folder / "latest");
  EXPECT_EQ(run_of(folder / "latest"), folder / "a");
  make_run("b", {});
  EXPECT_EQ(run_of(folder / "latest"), folder / "b");
}

// Some file systems have no links. There latest/ is empty, or was left out by a copy.
TEST_F(RunDirectoryTest, LatestWithoutLinksStandsForTheRunThatWroteItsManifestLast) {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  for (const auto& [name, age] : {std::pair{"a", 2}, {"b", 1}, {"c", 3}}) {
    const fs::path run = make_run(name, {7});
    spill(run / "run.json", "{}");
    fs::last_write_time(run / "run.json", now - std::chrono::hours(age));
  }
  options.run.resume = true;
  fs::remove_all(folder / "latest");
  for (const bool exists : {false, true}) {
    if (exists) fs::create_directory(folder / "latest");
    EXPECT_EQ(run_of(folder / "latest"), folder / "b");
    EXPECT_EQ(plan().directory, folder / "b");
    for (const fs::path& path : {folder / "latest", folder.path()})
      EXPECT_EQ(find_checkpoint(path), folder / "b/checkpoints/iter_000007.h5") << exists;
  }
  for (const char* name : {"a", "b", "c"}) fs::remove_all(folder / name);
  EXPECT_EQ(run_of(folder / "latest"), folder / "latest");
}

// TensorBoard reads every directory, and every link to one, that has a file called *tfevents*.
TEST_F(RunDirectoryTest, LatestHasTheFilesOfTheRunButNoEvents) {
  const RunDirectory run(start("a"));
  spill(run.path() / "events.out.tfevents.1", "");
  spill(run.path() / "metrics.csv", "iteration");
  spill(run.checkpoint(3), "");
  EXPECT_FALSE(fs::is_symlink(folder / "latest"));
  EXPECT_FALSE(fs::exists(folder / "latest/events.out.tfevents.1"));
  EXPECT_EQ(slurp(folder / "latest/metrics.csv"), "iteration");
  EXPECT_TRUE(fs::exists(folder / "latest/checkpoints/iter_000003.h5"));
  EXPECT_EQ(find_checkpoint(folder / "latest").filename(), "iter_000003.h5");
  spill(folder / "latest/STOP", "");
  EXPECT_TRUE(run.take_stop_request());
}

// A run that ended before its first checkpoint has no policy, so latest/ and the task's directory mean the run before.
TEST_F(RunDirectoryTest, CheckpointsOfLatestAreThoseOfTheNewestRunThatHasAny) {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  for (const auto& [name, age] : {std::pair{"a", 2}, {"b", 3}})
    fs::last_write_time(make_run(name, {7}) / "checkpoints/iter_000007.h5", now - std::chrono::hours(age));
  const RunDirectory run(start("c"));
  EXPECT_TRUE(fs::exists(folder / "latest/checkpoints"));
  for (const fs::path& path : {folder / "latest", folder / "latest/", folder.path()})
    EXPECT_EQ(find_checkpoint(path), folder / "a/checkpoints/iter_000007.h5") << path;
  EXPECT_THROW(find_checkpoint(run.path()), UsageError);
  spill(run.checkpoint(1), "");
  EXPECT_EQ(find_checkpoint(folder / "latest").filename(), "iter_000001.h5");
}

TEST_F(RunDirectoryTest, NamesARunByRunNameElseJobElseTime) {
  EXPECT_EQ(plan().directory, folder / "now");
  job = "7";
  EXPECT_EQ(plan().directory, folder / "slurm-7");
  options.run.run_name = "mine";
  EXPECT_EQ(plan().directory, folder / "mine");
  EXPECT_EQ(plan().from, StartFrom::scratch);
}

TEST_F(RunDirectoryTest, GivesRunsOfTheSameSecondDifferentNames) {
  make_run("now", {1});
  EXPECT_EQ(plan().directory, folder / "now.2");
}

TEST_F(RunDirectoryTest, ResumesANamedRunOnlyWithItsOptions) {
  make_run("r", {3, 9});
  options.run.run_name = "r";
  options.train.max_iterations = 1000;  // does not affect the results
  const RunStart same = plan();
  EXPECT_EQ(same.from, StartFrom::resume);
  EXPECT_EQ(names(same.checkpoints), (Names{"iter_000009.h5", "iter_000003.h5"}));
  EXPECT_FALSE(same.notice.empty());
  table.set("ppo.gamma", "0.5");
  EXPECT_THROW(plan(), UsageError);
  options.run.resume = true;
  EXPECT_EQ(plan().from, StartFrom::resume);
  options.train.seed = 5;
  EXPECT_THROW(plan(), UsageError);
}

TEST_F(RunDirectoryTest, FreshRenamesTheOldRun) {
  const fs::path run = make_run("r", {3});
  options.run.run_name = "r";
  options.run.fresh = true;
  for (const char* kept : {"r.old", "r.old.2"}) {
    const RunStart fresh = plan();
    EXPECT_EQ(fresh.from, StartFrom::scratch);
    const RunDirectory directory(fresh);
    EXPECT_TRUE(fs::exists(folder / kept));
    EXPECT_TRUE(list_checkpoints(run).empty());
  }
}

TEST_F(RunDirectoryTest, GivesSimultaneousStartsDifferentRuns) {
  for (const char* id : {"", "7"}) {
    job = id;
    const std::string name = job.empty() ? "now" : "slurm-7";
    const RunStart a = claim(), b = claim(), c = claim();  // none of them has written anything yet
    EXPECT_EQ(a.directory, folder / name);
    EXPECT_EQ(b.directory, folder / (name + ".2"));
    EXPECT_EQ(c.directory, folder / (name + ".3"));
  }
}

// Several short runs start at once. A later one must notice a checkpoint that another has just saved, and not overwrite
// it.
TEST_F(RunDirectoryTest, PlanStillHoldsUnderTheLock) {
  for (int round = 0; round < 300; ++round) {
    job = std::to_string(round);
    const RunContext here = context();
    std::atomic<int> overwritten = 0, waiting = 4;
    std::vector<std::thread> starts;
    for (int k = 0; k < 4; ++k)
      starts.emplace_back([&] {
        for (--waiting; waiting > 0;) std::this_thread::yield();
        const RunStart start = claim_run({options.run, table, here});
        overwritten += start.from == StartFrom::scratch && !list_checkpoints(start.directory).empty();
        const RunDirectory run(start);
        spill(run.path() / "new", table.to_ini());  // written atomically, as drl_train does
        fs::rename(run.path() / "new", run.path() / "options.ini");
        spill(run.checkpoint(1), "");
      });
    for (std::thread& start : starts) start.join();
    EXPECT_EQ(overwritten, 0);
  }
}

TEST_F(RunDirectoryTest, RemovesTheDirectoryOfAnUnusedClaim) {
  const std::string task = folder.path().filename();
  options.run.runs_dir = folder / "new" / "runs";
  { const RunStart start = claim_run({options.run, table, {task, "7", "now"}}); }
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(RunDirectoryTest, NeverChangesAGivenName) {
  options.run.run_name = "r";
  const RunStart first = claim();
  expect_mentions(error_from<UsageError>([&] { claim(); }), {(folder / "r").string(), "in use", "--run_name"});
}

TEST_F(RunDirectoryTest, AJobReusesARunWithoutOptions) {
  job = "7";
  fs::create_directories(folder / "slurm-7" / "checkpoints");  // killed before it wrote its options
  EXPECT_EQ(claim().directory, folder / "slurm-7");
  make_run("slurm-7", {});  // or before its first checkpoint
  EXPECT_EQ(claim().directory, folder / "slurm-7");
}

// The node that the job had before may be cut off and hold the lock for a while. A new run would lose the progress.
TEST_F(RunDirectoryTest, ARequeuedJobWaitsForItsRun) {
  job = "7";
  const fs::path run = make_run("slurm-7", {3});
  auto holder = std::make_optional<RunDirectory>(start("slurm-7"));
  EXPECT_EQ(claim().directory, folder / "slurm-7.2") << "another srun step of the same job";
  continued = true;
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    holder.reset();
  });
  EXPECT_EQ(claim().directory, run);
  end.join();
}

TEST_F(RunDirectoryTest, AWaitForARunEndsOnSigterm) {
  job = "7";
  make_run("slurm-7", {3});
  const RunDirectory holder(start("slurm-7"));
  continued = true;
  const auto wait_and_exit = [&] {
    catch_stop_signals();
    take_stops_as_requests();
    std::raise(SIGTERM);
    try {
      claim();
    } catch (const Error& error) {
      std::_Exit(error.exit_code());
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(wait_and_exit(), testing::ExitedWithCode(143), "");
}

// A requeued job executes the same script, but must resume the run that it has started.
TEST_F(RunDirectoryTest, FreshOnlyAffectsTheFirstStartOfAJob) {
  job = "7";
  options.run.fresh = true;
  for (const char* name : {"", "r"}) {
    options.run.run_name = name;
    const fs::path run = make_run(*name ? name : "slurm-7", {3});
    EXPECT_EQ(plan().from, StartFrom::scratch);
    continued = true;
    EXPECT_EQ(plan().from, StartFrom::scratch) << "an older run of that name";
    spill(run / "run.json", R"({"job_ids": ["5", "7"]})");
    EXPECT_EQ(plan().from, StartFrom::resume);
    expect_mentions(plan().notice, {"resuming", run.string(), "this job"});
    continued = false;
    EXPECT_EQ(plan().from, StartFrom::scratch);
  }
}

TEST_F(RunDirectoryTest, TheOriginIdentifiesARun) {
  job = "7";
  const fs::path teacher = find_checkpoint(make_run("teacher", {3}));
  const fs::path run = make_run("slurm-7", {3});
  options.run.init_from = teacher;
  EXPECT_EQ(plan().directory, folder / "slurm-7.2");
  EXPECT_EQ(plan().from, StartFrom::weights);
  spill(run / "run.json", "{\"origin\": \"" + teacher.string() + "\"}");
  EXPECT_EQ(plan().directory, run);
  EXPECT_EQ(plan().from, StartFrom::resume);
}

TEST_F(RunDirectoryTest, RefusesNamesOutsideTheTasksDirectory) {
  for (const char* name : {"..", ".", "a/b", "/a", "latest", "a\nb"}) {
    options.run.run_name = name;
    EXPECT_THROW(plan(), UsageError) << name;
  }
  options.run.run_name = "Grüße, 1";
  EXPECT_EQ(plan().directory, folder / "Grüße, 1");
}

TEST_F(RunDirectoryTest, RefusesOptionsThatExcludeEachOther) {
  const fs::path run = make_run("r", {3});
  options.run.checkpoint = options.run.init_from = find_checkpoint(run);
  EXPECT_THROW(plan(), UsageError);
  options.run.checkpoint = "";
  EXPECT_EQ(plan().from, StartFrom::weights);
  options.run.load_run = "r";
  EXPECT_THROW(plan(), UsageError);
}

}  // namespace
}  // namespace drl

#include "run/run_directory.hpp"

#include <gtest/gtest.h>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"

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
  // A run of these options, with an empty file in place of each checkpoint.
  fs::path make_run(const std::string& name, const std::vector<int64_t>& iterations) {
    const RunDirectory run(start(name));
    spill(run.path() / "options.ini", table.to_ini());
    for (int64_t iteration : iterations) spill(run.checkpoint(iteration), "");
    return run.path();
  }
  RunStart plan() {
    options.run.runs_dir = folder.path().parent_path();
    return plan_run(options.run, table, {folder.path().filename(), job, "now"});
  }

  TempFolder folder;  // of a task's runs
  Options options;
  OptionTable table;
  std::string job;
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
  spill(run / "checkpoints" / "notes.txt", "");
  EXPECT_EQ(names(list_checkpoints(run)),
            (Names{"iter_1000000.h5", "iter_999999.h5", "iter_000020.h5", "iter_000005.h5"}));
  EXPECT_TRUE(list_checkpoints(folder / "missing").empty());
}

TEST_F(RunDirectoryTest, FindsTheCheckpointThatAPathMeans) {
  const fs::path run = make_run("r", {5, 20});
  EXPECT_EQ(find_checkpoint(run), run / "checkpoints" / "iter_000020.h5");
  EXPECT_EQ(find_checkpoint(run / "checkpoints" / "iter_000005.h5"), run / "checkpoints" / "iter_000005.h5");
  EXPECT_THROW(find_checkpoint(folder / "missing"), UsageError);
  EXPECT_THROW(find_checkpoint(make_run("empty", {})), UsageError);
}

TEST_F(RunDirectoryTest, KeepsTheNewestAndTheBest) {
  const fs::path path = make_run("r", {1, 2, 3, 4, 5});
  const RunDirectory run(start("r"));
  run.mark_best(4);
  run.mark_best(2);
  run.prune(2);
  EXPECT_EQ(names(list_checkpoints(path)), (Names{"iter_000005.h5", "iter_000004.h5", "iter_000002.h5"}));
  EXPECT_EQ(fs::read_symlink(path / "checkpoints" / "best.h5"), "iter_000002.h5");
}

TEST_F(RunDirectoryTest, AStopFileIsTakenOnce) {
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

TEST_F(RunDirectoryTest, LatestPointsToTheOneOpenedLast) {
  make_run("a", {});
  make_run("b", {});
  EXPECT_EQ(fs::read_symlink(folder / "latest"), "b");
  make_run("a", {});
  EXPECT_EQ(fs::read_symlink(folder / "latest"), "a");
}

TEST_F(RunDirectoryTest, ARunIsCalledByItsNameElseItsJobElseTheTime) {
  EXPECT_EQ(plan().directory, folder / "now");
  job = "7";
  EXPECT_EQ(plan().directory, folder / "slurm-7");
  options.run.run_name = "mine";
  EXPECT_EQ(plan().directory, folder / "mine");
  EXPECT_EQ(plan().from, StartFrom::scratch);
}

TEST_F(RunDirectoryTest, TwoRunsOfOneSecondHaveTwoNames) {
  make_run("now", {1});
  EXPECT_EQ(plan().directory, folder / "now.2");
}

TEST_F(RunDirectoryTest, ANamedRunGoesOnWithTheOptionsThatItHad) {
  make_run("r", {3, 9});
  options.run.run_name = "r";
  options.train.max_iterations = 1000;  // changes no number
  const RunStart same = plan();
  EXPECT_EQ(same.from, StartFrom::resume);
  EXPECT_EQ(names(same.checkpoints), (Names{"iter_000009.h5", "iter_000003.h5"}));
  EXPECT_FALSE(same.notice.empty());
  options.ppo.gamma = 0.5;
  EXPECT_THROW(plan(), UsageError);
  options.run.resume = true;
  EXPECT_EQ(plan().from, StartFrom::resume);
  options.train.seed = 5;
  EXPECT_THROW(plan(), UsageError);
}

TEST_F(RunDirectoryTest, FreshKeepsTheOldOneUnderAnotherName) {
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

TEST_F(RunDirectoryTest, RefusesNamesThatLeaveTheFolder) {
  for (const char* name : {"..", ".", "a/b", "/a", "latest", "a\nb"}) {
    options.run.run_name = name;
    EXPECT_THROW(plan(), UsageError) << name;
  }
  options.run.run_name = "Grüße, 1";
  EXPECT_EQ(plan().directory, folder / "Grüße, 1");
}

TEST_F(RunDirectoryTest, RefusesTwoStartsAtOnce) {
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

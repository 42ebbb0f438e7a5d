#include "report/page/run_record.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/check.hpp"
#include "runs.hpp"
#include "store/checkpoint.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

TEST(FindRuns, ReturnsARunOrAllRunsBelowADirectory) {
  const TempFolder folder;
  for (const char* name : {"A/two", "A/one", "B/x", "A/one.old", "A/one.old.2", "A/lr0.5"})
    test::write_run(folder / name, "", "");
  fs::create_directories(folder / "A/one/checkpoints");
  fs::create_directories(folder / "A/latest");
  for (const char* name : {"checkpoints", "run.json", "metrics.csv"})
    fs::create_symlink(fs::path("../one") / name, folder / "A/latest" / name);
  EXPECT_EQ(find_runs(folder.path()),
            (std::vector<fs::path>{folder / "A/lr0.5", folder / "A/one", folder / "A/two", folder / "B/x"}));
  EXPECT_EQ(find_runs(folder / "A/one"), std::vector<fs::path>{folder / "A/one"});
  EXPECT_EQ(find_runs(folder / "A/latest"), std::vector<fs::path>{folder / "A/one"});
  EXPECT_EQ(find_runs(folder / "A/one.old"), std::vector<fs::path>{folder / "A/one.old"});
  EXPECT_TRUE(find_runs(folder / "A/one/checkpoints").empty());
  setenv("DRL_RUNS_DIR", folder.path().c_str(), 1);
  EXPECT_EQ(find_runs("one"), std::vector<fs::path>{folder / "A/one"});  // a name is looked up among all tasks
  EXPECT_THROW(find_runs("none"), UsageError);
  unsetenv("DRL_RUNS_DIR");
  EXPECT_THROW(find_runs(folder / "C"), UsageError);
  EXPECT_THROW(find_runs(folder / "A/one/run.json"), UsageError);
}

TEST(ReadRun, ReadsAllFiles) {
  const TempFolder folder;
  const fs::path path = folder / "Cart/r";
  test::write_run(path, "seed = 3\n[ppo]\ngamma = 0.9\n[env.reward]\nalive = 2\n", "1,64,0.5\n2,128,1.5\n",
                  R"({"task": "Cart", "run": "r", "status": "stopped", "world_size": 4, "hosts": ["a", "b"],
                      "devices": ["cpu"], "cpu_model": "Xeon", "starts": 2, "elapsed_seconds": 90.5,
                      "node_hours": 0.05, "env_steps": 2000000, "gpu_energy_joules": 85})");
  fs::create_directories(path / "checkpoints" / "deep");
  write_checkpoint(path / "checkpoints/best.h5",
                   {{{"iteration", int64_t{2}}, {"score", 1.25}, {"score_kind", std::string("training mean")}}, {}});
  for (const char* film : {"b.mp4", "checkpoints/iter_2.gif", "a.png", "notes.txt", "checkpoints/deep/c.mp4"})
    spill(path / film, "x");
  const RunRecord run = read_run(path);
  EXPECT_EQ(run.task + "/" + run.name + "/" + run.status + "/" + run.devices, "Cart/r/stopped/Xeon");
  EXPECT_EQ(run.world_size, 4);
  EXPECT_EQ(run.hosts, 2);
  EXPECT_EQ(run.starts, 2);
  EXPECT_EQ(run.elapsed_seconds, 90.5);
  EXPECT_EQ(run.node_hours, 0.05);
  EXPECT_EQ(run.gpu_joules, 85);
  EXPECT_EQ(run.joules_per_million_steps, 42.5);
  EXPECT_EQ(run.option("seed") + run.option("ppo.gamma") + run.option("env.reward.alive") + run.option("x"), "30.92");
  EXPECT_EQ(run.metrics.last("mean_reward"), 1.5);
  ASSERT_TRUE(run.best);
  EXPECT_EQ(run.best->iteration, 2);
  EXPECT_EQ(run.best->score, 1.25);
  EXPECT_EQ(run.best->kind, "training mean");
  EXPECT_EQ(run.films, (std::vector<fs::path>{path / "checkpoints/iter_2.gif", path / "b.mp4", path / "a.png"}));
  EXPECT_TRUE(run.warnings.empty());
}

// Only the damaged part is missing, and a warning names it.
TEST(ReadRun, WarnsOfDamagedFiles) {
  const auto warning_after = [](const auto& damage) {
    const TempFolder folder;
    test::write_run(folder / "Cart/r", "seed = 3\n", "1,64,0.5\n");
    damage(folder / "Cart/r");
    const RunRecord run = read_run(folder / "Cart/r");
    EXPECT_EQ(run.task, "Cart");
    EXPECT_EQ(run.warnings.size(), 1u);
    return run.warnings.empty() ? "" : run.warnings[0];
  };
  const auto put = [](const char* file, const char* text) {
    return [=](const fs::path& run) {
      fs::create_directories((run / file).parent_path());
      spill(run / file, text);
    };
  };
  const auto take = [](const char* file) { return [=](const fs::path& run) { fs::remove(run / file); }; };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_PRED2(has, warning_after(put("run.json", "{\"task\": ")), "run.json is damaged");
  EXPECT_PRED2(has, warning_after(put("metrics.csv", "MZ")), "metrics.csv");
  EXPECT_PRED2(has, warning_after(put("metrics.csv", "iteration,a\n1,2\nq\n")), "1 row of metrics.csv");
  EXPECT_PRED2(has, warning_after(put("metrics.csv", "iteration,a\n")), "no iteration");
  EXPECT_PRED2(has, warning_after(put("options.ini", "[ppo\n")), "options.ini:1:");
  EXPECT_PRED2(has, warning_after(put("checkpoints/best.h5", "no HDF5")), "best.h5");
  EXPECT_PRED2(has, warning_after(take("metrics.csv")), "metrics.csv is missing");
  EXPECT_PRED2(has, warning_after(take("options.ini")), "options.ini is missing");
}

// Editors of Windows write a mark at the beginning, and another end of lines.
TEST(ReadRun, ReadsFilesThatWereSavedOnWindows) {
  const TempFolder folder;
  test::write_run(folder / "Cart/r", "seed = 3\n", "1,64,0.5\n");
  for (const char* file : {"run.json", "metrics.csv", "options.ini"}) {
    std::string text = "\xef\xbb\xbf";
    for (const char c : slurp(folder / "Cart/r" / file)) text += c == '\n' ? "\r\n" : std::string(1, c);
    spill(folder / "Cart/r" / file, text);
  }
  const RunRecord run = read_run(folder / "Cart/r");
  EXPECT_TRUE(run.warnings.empty()) << run.warnings.front();
  EXPECT_EQ(run.metrics.iterations.size(), 1u);
}

// Values with other types than drl writes are ignored.
TEST(ReadRun, IgnoresValuesOfOtherTypesInTheManifest) {
  const TempFolder folder;
  test::write_run(
      folder / "Cart/r", "", "1,64,0.5\n",
      R"({"task": 7, "run": null, "world_size": "two", "hosts": {"a": 1}, "devices": [1, "cpu"], "node_hours": []})");
  const RunRecord run = read_run(folder / "Cart/r");
  EXPECT_EQ(run.task + "/" + run.name + "/" + run.devices, "Cart/r/cpu");
  EXPECT_EQ(run.world_size + run.hosts, 0);
  EXPECT_TRUE(std::isnan(run.node_hours));
  EXPECT_TRUE(std::isnan(run.gpu_joules));
}

TEST(ReadRun, NeedsTheManifestOrTheMetrics) {
  const TempFolder folder;
  test::write_run(folder / "Cart/r", "", "1,64,0.5\n");
  spill(folder / "Cart/r/run.json", "[]");
  EXPECT_NO_THROW(read_run(folder / "Cart/r"));
  spill(folder / "Cart/r/metrics.csv", "");
  EXPECT_THROW(read_run(folder / "Cart/r"), UsageError);
}

}  // namespace
}  // namespace drl

// Runs the program drl_report.
#include <gtest/gtest.h>

#include "../support/mentions.hpp"
#include "../support/process.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

const std::string kReport = bin("drl_report");

class ReportProgram : public testing::Test {
 protected:
  ReportProgram() {
    write_run("Cart/a", "seed = 0\n", "1,64,0.5\n2,128,1.5\n");
    write_run("Cart/b", "seed = 1\n", "1,64,1.5\n2,128,3.5\n");
    write_run("Pole/c", "seed = 1\n", "1,64,7\n2,1");  // still in progress
  }
  void write_run(const fs::path& name, const std::string& options, const std::string& rows) {
    const fs::path run = folder_.path() / name;
    fs::create_directories(run);
    spill(run / "options.ini", options);
    spill(run / "metrics.csv", "iteration,env_steps,mean_reward\n" + rows);
    spill(run / "run.json", "{\"task\": \"" + name.parent_path().string() + "\", \"run\": \"" +
                                name.filename().string() +
                                "\", \"status\": \"running\", \"elapsed_seconds\": 3, \"node_hours\": 0.5}");
  }
  Result report(const Words& words) const { return run_program(Words{kReport} + words + Words{"--output", page()}); }
  fs::path page() const { return folder_ / "page.html"; }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  TempFolder folder_;
};

TEST_F(ReportProgram, WritesThePageAndASummary) {
  const Result result = expect_exit(report({at("Cart"), at("Pole/c"), at("Cart/a")}), 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(count_lines(result.out), 6u) << result.out;
  EXPECT_TRUE(result.out.starts_with(page().string() + " (")) << result.out;
  expect_mentions(result.out, {"3 runs in 2 groups\n", "Cart, Pole\n", "2.5 (", "0:00:09, 1.5 node-hours\n",
                               "0 videos, 0 warnings\n"});
  const std::string html = slurp(page());
  EXPECT_NE(html.find("<h2>Cart</h2>"), html.npos);
  EXPECT_NE(html.find("<h2>Pole</h2>"), html.npos);
  EXPECT_EQ(report({at("Pole")}).exit_code, 0);  // a page may be replaced
}

TEST_F(ReportProgram, SumsTheEnergyOfTheRunsWhoseEnergyIsKnown) {
  for (const char* name : {"Cart/a", "Cart/b"})
    spill(folder_ / name / "run.json", R"({"task": "Cart", "env_steps": 1000, "gpu_energy_joules": 1500000})");
  expect_mentions(expect_exit(report({at("Cart"), at("Pole/c")}), 0).out, {"3.00 MJ", "2 runs\n"});
}

TEST_F(ReportProgram, SaysWhatWeightsAndBiasesNeed) {
  const fs::path python = folder_ / "bin" / "python3";
  fs::create_directories(python.parent_path());
  spill(python, "#!/bin/sh\necho No module named drl; exit 1\n");
  fs::permissions(python, fs::perms::owner_all);
  const Words words = {kReport, at("Cart"), "--wandb", "mine", "--output", page()};
  const std::string path = std::string("PATH=") + python.parent_path().string() + ":" + getenv("PATH");
  const Result result = expect_exit(run_program(Words{"env", path} + words), 1);
  expect_mentions(result.err, {"error: ", "--wandb", "No module named drl", "pip install"});
}

TEST_F(ReportProgram, LeavesOutRunsThatCannotBeRead) {
  spill(folder_ / "Cart/a/metrics.csv", "garbage");
  spill(folder_ / "Cart/a/run.json", "garbage");
  const Result result = expect_exit(report({at("Cart"), at("nothing<here>")}), 0);
  EXPECT_EQ(count_lines(result.err), 2u) << result.err;
  expect_mentions(result.err, {"Cart/a", "run.json", "nothing<here>"});
  const std::string html = slurp(page());
  EXPECT_NE(html.find("nothing&lt;here&gt;"), html.npos);
  EXPECT_NE(html.find("Cart/a"), html.npos);
}

TEST_F(ReportProgram, ReportsErrorsInOneLine) {
  fs::create_directories(folder_ / "empty");
  spill(folder_ / "notes.txt", "mine");
  const std::pair<Words, const char*> mistakes[] = {{{}, "drl_report runs/Cartpole"},
                                                    {{at("empty")}, "/empty"},
                                                    {{at("nowhere")}, "/nowhere"},
                                                    {{at("notes.txt")}, "/notes.txt"},
                                                    {{at("Cart"), "--outptu", "x"}, "--output"},
                                                    {{at("Cart"), "--points", "3"}, "points"},
                                                    {{at("Cart"), "--output"}, ""},
                                                    {{at("Cart"), "-o", at("empty")}, "is a directory"},
                                                    {{at("Cart"), "-o", at("nowhere/x.html")}, "does not exist"},
                                                    {{at("Cart"), "-o", at("notes.txt")}, "not an HTML page"}};
  for (const auto& [words, part] : mistakes) {
    const bool own_output =
        std::ranges::find(words, "-o") != words.end() || std::ranges::find(words, "--output") != words.end();
    expect_error(own_output ? run_program(Words{kReport} + words) : report(words), {part});
  }
  EXPECT_EQ(slurp(folder_ / "notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(page()));
}

TEST_F(ReportProgram, PrintsItsHelpAndVersion) {
  for (const char* word : {"--help", "-h"}) {
    const Result result = expect_exit(run_program({kReport, word}), 0);
    EXPECT_NE(result.out.find("drl_report runs/Cartpole/latest"), std::string::npos);
    EXPECT_NE(result.out.find("--film_size"), std::string::npos);
  }
  EXPECT_TRUE(run_program({kReport, "--version"}).out.starts_with("drl_report "));
}

}  // namespace
}  // namespace drl

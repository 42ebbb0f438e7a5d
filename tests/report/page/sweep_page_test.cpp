#include "report/page/sweep_page.hpp"

#include <gtest/gtest.h>

#include "../../support/mentions.hpp"

namespace drl {
namespace {

SweepTable sweep() {
  return {.title = "Ant <b>",
          .objective = "mean_reward",
          .facts = "grid, 3 trials",
          .axes = {{.name = "lr", .is_log = true, .low = 1e-4, .high = 1e-2},
                   {.name = "batches", .choices = {"2", "4", "8"}},
                   {.name = "epochs", .is_whole = true, .low = 1, .high = 3}},
          .rows = {{"trial_002", 20, 300.5, {"0.001", "8", "1"}},
                   {"trial_000", 20, 100.5, {"0.01", "4", "3"}},
                   {"trial_001", 20, NAN, {"0.0001", "2", "2"}, "failed"}}};
}

TEST(SweepPage, TablesHaveTheTrialsInOrder) {
  EXPECT_EQ(sweep_csv(sweep()),
            "rank,run,iterations,mean_reward,lr,batches,epochs\n1,trial_002,20,300.5,0.001,8,1\n"
            "2,trial_000,20,100.5,0.01,4,3\n3,trial_001,20,nan,0.0001,2,2\n");
  SweepTable lists = sweep();
  lists.rows[0].values[1] = "64,32";
  expect_mentions(sweep_csv(lists), {"300.5,0.001,\"64,32\",1\n"});
  expect_mentions(sweep_text(sweep(), 10), {"3  trial_001          20       failed"});
  expect_mentions(sweep_text(sweep(), 1), {"trial_002", "and 2 more"});
  EXPECT_EQ(sweep_text(sweep(), 1).find("trial_000"), std::string::npos);
}

// The axes are at 70, 346.7, 623.3 and 900, and go from 330 up to 40. The best trial is in the middle of the
// logarithmic axis, at the last choice, at the lowest whole number, and has the highest objective.
TEST(SweepPage, DrawsALineForEachTrialThatHasAnObjective) {
  const std::string page = sweep_page(sweep());
  expect_mentions(page, {"<title>Ant &lt;b&gt;</title>", "M70.0,185.0L346.7,40.0L623.3,330.0L900.0,40.0",
                         "M70.0,40.0L346.7,185.0L623.3,40.0L900.0,330.0", ">failed<", "prefers-color-scheme: dark"});
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/1999/xhtml")) << "no network";
  SweepTable none = sweep();
  none.rows = {none.rows.back()};
  expect_mentions(sweep_page(none), {"No trial has an objective yet"});
}

}  // namespace
}  // namespace drl

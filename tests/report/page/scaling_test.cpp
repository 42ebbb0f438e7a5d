#include "report/page/scaling.hpp"

#include <gtest/gtest.h>

#include "../../support/mentions.hpp"

namespace drl {
namespace {

// Two nodes take 1.5 times as many steps as one, and then as many as one.
ScalingStudy study() {
  ScalingStudy s;
  s.title = "Ant-v5 on 2 nodes <cpu>", s.unit = "node", s.method = "By hand.", s.per_rank = 2, s.goal_steps = 3.6e9;
  s.weak = {{1, 4, 1024, 1e5, 0.1}, {2, 8, 2048, 1.5e5, 0.25}};
  s.strong = {{1, 4, 1024, 1e5, 0.1}, {2, 8, 1024, 1e5, 0.5}};
  return s;
}

TEST(Scaling, NumbersAreThoseOfTheFirstPoint) {
  const ScalingStudy s = study();
  EXPECT_DOUBLE_EQ(speed_up(s.weak, 1), 1.5);
  EXPECT_DOUBLE_EQ(efficiency(s.weak, 1), 0.75);
  EXPECT_DOUBLE_EQ(efficiency(s.strong, 1), 0.5);
  // 3.6e9 steps at 1e5 a second are 36,000 s, ten hours, of 4 ranks with 2 cores each.
  EXPECT_DOUBLE_EQ(hours(s, s.weak[0]), 80);
  EXPECT_DOUBLE_EQ(hours(s, s.strong[1]), 160);
}

TEST(Scaling, TablesHaveALineForEachPoint) {
  const std::string text = scaling_markdown(study());
  expect_mentions(text, {"| study | nodes | ranks | environments |", "core-hours for 3,600,000,000 steps |\n",
                         "| weak | 2 | 8 | 2,048 | 150,000 | 1.50 | 75 % | 25 % | 106.7 |\n",
                         "| strong | 2 | 8 | 1,024 | 100,000 | 1.00 | 50 % | 50 % | 160 |\n"});
  expect_mentions(scaling_csv(study()),
                  {"\nweak,1,4,1024,100000,1,1,0.1,80,nan\n", "\nstrong,2,8,1024,100000,1,0.5,0.5,160,nan\n"});
}

// 1e6 steps take 36 kJ, so 3.6e9 steps take 36 kWh.
TEST(Scaling, EnergyIsShownIfItIsKnown) {
  ScalingStudy s = study();
  EXPECT_EQ(scaling_markdown(s).find("kWh"), std::string::npos);
  s.weak[1].joules_per_million_steps = 36e3;
  s.hours_of = "GPU";
  expect_mentions(scaling_markdown(s), {"GPU-hours", "| kWh of GPUs |\n", "| 36 |\n", "| - |\n"});
}

TEST(Scaling, DrawingIsStandAloneAndEscapesItsTitle) {
  const std::string text = scaling_svg(study());
  EXPECT_TRUE(text.starts_with("<svg xmlns="));
  expect_mentions(text, {"Ant-v5 on 2 nodes &lt;cpu&gt;", "weak: 75 % efficient at 2 nodes", "strong: 50 %"});
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace drl

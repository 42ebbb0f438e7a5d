// Tests what the velocity tasks add on rough ground (drl/robots/rough.hpp), by hand. lanes_robot_test.cpp compares
// the tasks in lanes with libmujoco.
#include "drl/robots/rough.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace drl {
namespace {

struct Config {
  static constexpr EndCause ends[] = {{"illegal_contact"}, {"out_of_terrain_bounds", EndsAs::time_out}};
  static constexpr bool ends_by_touch = true, follows_ground = true;
  static constexpr int touch_kinds = 3;
  static constexpr velocity::Touch touches[] = {{"thigh", 0}, {"calf1", 1}, {"calf2", 1}, {"trunk", 2}};
  static constexpr std::array<Vec<double, 2>, 4> ring{{{{0.04, 0}}, {{0, 0.04}}, {{-0.04, 0}}, {{0, -0.04}}}};
};
using Ground = velocity::RoughGround<Config>;
using State = Ground::State<double>;

// A robot that stands still on ground of any shape.
struct Statue {
  using F = double;
  Vec<double, 3> at{{0, 0, 0}};
  Vec<double, 4> turn{{1, 0, 0, 0}};
  std::function<double(double, double)> ground = [](double, double) { return 0.0; };
  std::vector<double> forces = std::vector<double>(16);  // four numbers for each sensor
  double qpos_[3] = {0, 0, 0};

  Vec<double, 3> position(BodyId) const { return at; }
  Vec<double, 4> orientation(BodyId) const { return turn; }
  double ground_height(double x, double y) const { return ground(x, y); }
  double sensor(SensorId sensor, int k) const { return forces[static_cast<size_t>(sensor.index + k)]; }
  double qpos(int k) const { return qpos_[k]; }
  void set_qpos(int k, double x) { qpos_[k] = x; }
};
Vec<double, 4> turned(double x, double y, double z, double angle) {
  return {{std::cos(angle / 2), x * std::sin(angle / 2), y * std::sin(angle / 2), z * std::sin(angle / 2)}};
}

TerrainOptions three_rows() {
  TerrainOptions options;
  options.rows = 3, options.columns = 5, options.level_max = 2;
  return options;
}
// Returns the level after an episode on a level.
double next_level(double level, double walked, double expected, uint64_t step = 0,
                  TerrainOptions options = three_rows()) {
  State s{};
  s.level = level, s.column = 4, s.walked = walked, s.expected = expected;
  Draws<double> draws(1, 0, step);
  Ground::choose_level(s, draws, options);
  return s.level;
}
// A patch is 8 m long, so that a robot has left it after 4 m.
TEST(Levels, FollowTheDistanceWalked) {
  EXPECT_EQ(next_level(0, 4.1, 0), 1);
  EXPECT_EQ(next_level(1, 4.1, 10), 2) << "although it should have walked 10 m";
  EXPECT_EQ(next_level(1, 3.9, 3.8), 1);
  EXPECT_EQ(next_level(1, 3.9, 4), 0);
  EXPECT_EQ(next_level(0, 0.1, 4), 0);
  EXPECT_EQ(next_level(1, -1, 4), 1) << "before the first episode";
  int seen[3] = {};
  for (uint64_t step = 0; step < 300; ++step) {
    const double level = next_level(2, 4.1, 0, step);
    ASSERT_TRUE(level == 0 || level == 1 || level == 2) << level;
    seen[static_cast<int>(level)] += 1;
  }
  for (const int count : seen) EXPECT_NEAR(count, 100, 4 * std::sqrt(300 * 2 / 9.0)) << "a random level after the last";
}
TEST(Levels, AreRandomWithoutACurriculum) {
  TerrainOptions options = three_rows();
  options.curriculum = false, options.level_min = 1, options.level_max = 7;  // only 3 rows
  int seen[3] = {};
  for (uint64_t step = 0; step < 200; ++step) seen[static_cast<int>(next_level(0, 0, 0, step, options))] += 1;
  EXPECT_EQ(seen[0], 0);
  EXPECT_NEAR(seen[1], 100, 4 * std::sqrt(200 / 4.0));
}
// Rows are along x, and the grid is centred: with 3 rows of 8 m the last is at x = 8, with 5 columns the last is at 16.
TEST(RobotsOnRoughGround, StartOnTheHighestGroundAroundTheirPlace) {
  State s{};
  s.level = 2, s.column = 4, s.walked = s.expected = -1;
  Statue robot;
  robot.ground = [](double x, double y) { return 0.1 * x + 0.01 * y; };
  robot.qpos_[0] = 0.2, robot.qpos_[1] = -0.3, robot.qpos_[2] = 0.5;
  Draws<double> draws(1, 0, 0);
  Ground::place(s, robot, 0, draws, three_rows());
  EXPECT_NEAR(robot.qpos_[0], 8.2, 1e-12);
  EXPECT_NEAR(robot.qpos_[1], 15.7, 1e-12);
  EXPECT_NEAR(robot.qpos_[2], 0.5 + 0.1 * (8.2 + 0.3) + 0.01 * (15.7 + 0.3), 1e-12);
  EXPECT_EQ(s.walked, -1);
}
TEST(RobotsOnRoughGround, EndWhereTheGroundEnds) {
  State s{};
  s.level = 2, s.column = 4;
  for (double& x : s.touched) x = 0;
  const double command[3] = {0.3, -0.4, 9};
  constexpr int kMetrics = std::size(Ground::metrics);
  Step<double, 3, kMetrics, 2> result;
  Ground::end_step(s, {{11, 20, 0}}, command, three_rows(), result);
  EXPECT_NEAR(s.walked, 5, 1e-12);    // from (8, 16)
  EXPECT_NEAR(s.expected, 5, 1e-12);  // half of 0.5 m/s for 20 s
  EXPECT_EQ(result.metrics[kMetrics - 1], 2);
  EXPECT_FALSE(result.ends[0] || result.ends[1]);
  // The ground ends at 12 + 5 m along x and at 20 + 5 m along y; the margin is 0.3 m.
  for (const auto& [x, y, is_out] :
       {std::tuple(16.6, 0.0, false), {-16.8, 0.0, true}, {0.0, 24.6, false}, {0.0, 24.8, true}}) {
    Ground::end_step(s, {{x, y, 0}}, command, three_rows(), result);
    EXPECT_EQ(result.ends[1], is_out) << x << " " << y;
  }
}
TEST(Touches, CountTimeStepsWithMoreThanTenNewtons) {
  State s{};
  Statue robot;
  Ground::Parts parts;
  for (int k = 0; k < 4; ++k) parts.touch[k] = {4 * k, 4};
  Ground::begin_step(s);
  Ground::count_touches(s, robot, parts);
  robot.forces = {1, 0, 0, 9.9, 1, 6, 0, 8.1, 1, 7, 7.2, 0, 1, 0, -11, 0};  // found, force; calves: both over 10 N
  Ground::count_touches(s, robot, parts);
  double terms[2];
  Ground::write_terms(s, terms);
  EXPECT_EQ(s.touched[0], 0);
  EXPECT_EQ(terms[0], 1);
  EXPECT_EQ(terms[1], 1);
  robot.forces[3] = 10.1;
  Ground::count_touches(s, robot, parts);
  constexpr int kMetrics = std::size(Ground::metrics);
  Step<double, 3, kMetrics, 2> result;
  const double command[3] = {0, 0, 0};
  Ground::end_step(s, {{0, 0, 0}}, command, three_rows(), result);
  EXPECT_TRUE(result.ends[0]);
}

// The grid has 17 points along the robot's heading and 11 to its left, at 0.1 m; x changes first.
TEST(Scan, IsAGridThatTurnsWithTheRobot) {
  Statue robot;
  robot.at = {{1, 2, 3}};
  robot.turn = turned(0, 0, 1, M_PI / 2);  // heads along y
  robot.ground = [](double x, double y) { return 0.1 * x + 0.2 * y; };
  double scan[187];
  Ground::scan_heights(
      robot, BodyId{}, [](double height) { return height; }, scan);
  for (int k = 0; k < 187; ++k) {
    const double ahead = -0.8 + 0.1 * (k % 17), left = -0.5 + 0.1 * (k / 17);
    EXPECT_NEAR(scan[k], (3 - 0.1 * (1 - left) - 0.2 * (2 + ahead)) / 5, 1e-12) << k;
  }
  robot.ground = [](double x, double) { return x < 1 ? -4.0 : 3.5; };
  Ground::scan_heights(
      robot, BodyId{}, [](double height) { return height + 1; }, scan);
  EXPECT_NEAR(scan[186], (5 + 1) / 5.0, 1e-12) << "it does not see farther than 5 m";
  EXPECT_NEAR(scan[0], (-0.5 + 1) / 5.0, 1e-12) << "ground above the robot";
}
TEST(Scan, DoesNotTiltWithTheRobot) {
  Statue robot;
  double scan[187], tilted[187];
  robot.at = {{0, 0, 1}};
  robot.ground = [](double x, double y) { return std::sin(x) + y * y; };
  Ground::scan_heights(
      robot, BodyId{}, [](double height) { return height; }, scan);
  robot.turn = turned(0, 1, 0, 0.7);  // nods
  Ground::scan_heights(
      robot, BodyId{}, [](double height) { return height; }, tilted);
  for (int k = 0; k < 187; ++k) EXPECT_NEAR(scan[k], tilted[k], 1e-12) << k;
  robot.turn = turned(0, 1, 0, M_PI / 2);  // its x axis points down; y still points to the left
  Ground::scan_heights(
      robot, BodyId{}, [](double height) { return height; }, tilted);
  for (int k = 0; k < 187; ++k) EXPECT_NEAR(scan[k], tilted[k], 1e-12) << k;
}
TEST(Feet, MeasureTheirHeightAboveTheHighestPointAroundThem) {
  Statue robot;
  robot.ground = [](double x, double y) { return x + 2 * y; };
  const Vec<double, 3> foot{{0.1, 0.2, 0.75}};
  EXPECT_NEAR(Ground::clearance(robot, foot, turned(0, 0, 1, 0)), 0.75 - 0.5 - 0.08, 1e-12);
  const double c = std::cos(0.5), s = std::sin(0.5);  // the ring turns with the foot
  EXPECT_NEAR(Ground::clearance(robot, foot, turned(0, 0, 1, 0.5)), 0.75 - 0.5 - 0.04 * std::max(c + 2 * s, 2 * c - s),
              1e-12);
  EXPECT_EQ(Ground::clearance(robot, {{0, 0, -3}}, turned(0, 0, 1, 0)), 0);
  EXPECT_EQ(Ground::clearance(robot, {{0, 0, 3}}, turned(0, 0, 1, 0)), 1);
}
// The normal of z = a x + b y is (-a, -b, 1).
TEST(Normal, IsThatOfThePlaneBelowTheRobot) {
  Statue robot;
  robot.at = {{3, -1, 2}};
  for (const auto& [a, b, heading] :
       {std::tuple(0.0, 0.0, 0.3), {0.3, -0.2, 0.0}, {0.3, -0.2, 2.0}, {-0.9, 0.5, -1.0}}) {
    robot.turn = turned(0, 0, 1, heading);
    robot.ground = [a = a, b = b](double x, double y) { return a * (x - 3) + b * (y + 1); };
    State s{};
    Ground::update(s, robot, BodyId{});
    const double size = std::sqrt(a * a + b * b + 1);
    const Vec<double, 3> up = Ground::up(s);
    EXPECT_NEAR(up[0], -a / size, 1e-9);
    EXPECT_NEAR(up[1], -b / size, 1e-9);
    EXPECT_NEAR(up[2], 1 / size, 1e-9);
  }
}
// Steps of 1 m along x scatter the points in all directions; a robot that sees nothing has none.
TEST(Normal, IsUpwardsWithoutAPlane) {
  Statue robot;
  State s{};
  robot.at = {{0, 0, 1}};
  for (const auto& ground : {std::function<double(double, double)>(
                                 [](double x, double y) { return std::sin(40 * x + 3 * y) > 0 ? 0.9 : -0.9; }),
                             std::function<double(double, double)>([](double, double) { return -10.0; })}) {
    robot.ground = ground;
    Ground::update(s, robot, BodyId{});
    const Vec<double, 3> up = Ground::up(s);
    EXPECT_EQ(up[0], 0);
    EXPECT_EQ(up[1], 0);
    EXPECT_EQ(up[2], 1);
  }
}
// Of a symmetric matrix with known eigenvectors: A = sum of size * axis axis^T.
TEST(Normal, IsTheEigenvectorOfTheSmallestEigenvalue) {
  const double axes[3][3] = {{2 / 3.0, -2 / 3.0, 1 / 3.0}, {1 / 3.0, 2 / 3.0, 2 / 3.0}, {-2 / 3.0, -1 / 3.0, 2 / 3.0}};
  for (int thin = 0; thin < 3; ++thin) {
    double a[3][3] = {};
    for (int n = 0; n < 3; ++n)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j) a[i][j] += (n == thin ? 0.1 : 2 + n) * axes[n][i] * axes[n][j];
    const Vec<double, 3> normal = Ground::thinnest(a, true);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(normal[i], axes[thin][i], 1e-9) << thin << " " << i;
  }
}

}  // namespace
}  // namespace drl

// Compares Reorient in lanes with libmujoco, its arm and hand with the makers' lengths, and its rewards with values
// computed by hand.
#include <algorithm>
#include <set>

#include "physics/reorient.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/reorient.hpp"
#include "task_on.hpp"

namespace drl {
namespace {

TEST(InLanes, ReorientAgreesWithMujoco) { expect_equal_steps<Reorient>(); }

// A robot on which time stands still, and whose contact sensors show given forces.
struct StillRobot : MujocoRobot {
  using MujocoRobot::MujocoRobot;
  void advance(const double* controls) { targets.assign(controls, controls + nu()), forward(); }
  double sensor(SensorId id, int k) const { return forces[id.index / 3][k]; }
  std::vector<double> targets;
  double forces[4][3] = {};  // N, of index, middle, ring and thumb
};

struct Scene : TaskOn<Reorient<StillRobot>, StillRobot> {
  using Task = Reorient<StillRobot>;

  Scene() {
    robot.forward();
    for (double& x : state.orientation) x = 0;
    state.orientation[0] = 1;
  }
  // Places the cube, turned about the world's z axis.
  void place(const std::vector<double>& at, double angle) {
    const double q[] = {std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
    for (int k = 0; k < 3; ++k) robot.set_qpos(parts.cube.qpos + k, at[k]);
    for (int k = 0; k < 4; ++k) robot.set_qpos(parts.cube.qpos + 3 + k, q[k]);
    robot.forward();
  }
  auto step() { return Task::step(state, robot, action, parts, params); }
  std::vector<double> observe() {
    std::vector<double> all(Task::obs_dim, std::nan(""));
    Task::observe(state, robot, parts, params, all.begin());
    return all;
  }
  double action[Task::joints] = {};
};

// The flange of the iiwa 14 R820 is 0.36 + 0.42 + 0.4 + 0.126 m above the floor if all joints are at 0. The palm is
// 0.095 m long, and turned by half a turn: its x and y axes are the world's -x and -y.
constexpr double kPalm = 0.36 + 0.42 + 0.4 + 0.126 + 0.095;
// From the palm's frame, in its axes: the fingertips' centres by the URDF's offsets and lengths. Index and ring finger
// lean by 5 degrees, and so does the thumb, which points to the side.
constexpr double kLean = 5 * common::kPi / 180, kFinger = 0.0164 + 0.054 + 0.0384 + 0.0267;
const double kIndex[] = {0, 0.0435 + kFinger* std::sin(kLean), -0.001542 + kFinger* std::cos(kLean)};
constexpr double kMiddle[] = {0, 0, 0.0007 + kFinger};
constexpr double kAlongThumb = 0.0399 + 0.0177 + 0.0514 + 0.0423;
const double kThumb[] = {-0.0182 + 0.005, 0.019333 + kAlongThumb* std::cos(kLean) - 0.027 * std::sin(kLean),
                         -0.045987 - kAlongThumb* std::sin(kLean) - 0.027 * std::cos(kLean)};

TEST(Reorient, ArmAndHandHaveTheMakersLengths) {
  Scene scene;
  EXPECT_NEAR(scene.robot.position(scene.parts.palm)[2], kPalm, 1e-12);
  const double* tips[] = {kIndex, kMiddle, kIndex, kThumb};
  for (int f = 0; f < 4; ++f) {
    const auto tip = scene.robot.position(scene.parts.tip[f]);
    EXPECT_NEAR(tip[0], -tips[f][0], 1e-6) << f;
    EXPECT_NEAR(tip[1], f == 2 ? tips[f][1] : -tips[f][1], 1e-6) << f;  // the ring finger mirrors the index finger
    EXPECT_NEAR(tip[2], kPalm + tips[f][2], 1e-6) << f;
  }
  // With the upper arm forward and the forearm down, each by a right angle: a4 = -pi/2 bends the elbow forward.
  scene.robot.set_qpos(scene.parts.joint[1].qpos, common::kPi / 2);
  scene.robot.set_qpos(scene.parts.joint[3].qpos, -common::kPi / 2);
  scene.robot.forward();
  const auto palm = scene.robot.position(scene.parts.palm);
  EXPECT_NEAR(palm[0], 0.42, 1e-9);
  EXPECT_NEAR(palm[2], 0.36 - 0.4 - 0.126 - 0.095, 1e-9);
}

TEST(Reorient, RewardTermsEqualValuesComputedByHand) {
  Scene scene;
  // The cube is at the palm's origin, so that the thumb's tip is farthest from it. The goal is 3 cm and 4 cm away along
  // x and y.
  scene.place({0, 0, kPalm}, 0.5);
  scene.state.position[0] = 0.03, scene.state.position[1] = 0.04, scene.state.position[2] = kPalm;
  scene.action[0] = 0.6, scene.action[22] = -0.8;
  scene.state.action[0] = 0.6, scene.state.action[22] = -0.3;
  const auto free = scene.step();
  EXPECT_NEAR(free.terms[0], 0.36 + 0.64, 1e-12);
  EXPECT_NEAR(free.terms[1], 0.25, 1e-12);
  EXPECT_NEAR(free.terms[2], 1 - std::tanh(common::norm(kThumb, 3) / 0.4), 1e-6);
  EXPECT_EQ(free.terms[3], 0);
  EXPECT_EQ(free.terms[4], 0);
  EXPECT_NEAR(free.terms[5], (1 - std::tanh(0.5)) * (1 - std::tanh(1.)), 1e-9);
  EXPECT_EQ(free.terms[6], 0);
  EXPECT_NEAR(free.metrics[0], 0.05, 1e-12);
  EXPECT_NEAR(free.metrics[1], 0.5, 1e-12);
  EXPECT_NEAR(scene.robot.targets[0], 0.06, 1e-12);  // 0.1 rad per unit from the joint's position
  EXPECT_NEAR(scene.robot.targets[22], -0.08, 1e-12);

  // The thumb and another finger press the cube with more than 1 N: 0.9 and 0.6 N together are 1.08 N.
  double* index = scene.robot.forces[0];
  double* thumb = scene.robot.forces[3];
  index[0] = 0.9, index[2] = 0.6, thumb[1] = -1.1;
  const auto gripped = scene.step();
  EXPECT_NEAR(gripped.terms[1], 0, 1e-12);
  EXPECT_NEAR(gripped.terms[3], 1 - std::tanh(0.05 / 0.2), 1e-9);
  EXPECT_NEAR(gripped.terms[4], 1 - std::tanh(0.5 / 1.5), 1e-9);
  EXPECT_EQ(gripped.terms[6], 1);
  thumb[1] = -0.9;
  EXPECT_EQ(scene.step().terms[6], 0);
  thumb[1] = -1.1, index[2] = 0.4;  // 0.98 N
  EXPECT_EQ(scene.step().terms[6], 0);
}

// MuJoCo's own difference of two orientations, in the cube's frame, turned into the world's.
TEST(Reorient, ObservesTheShortestRotationToTheGoal) {
  Scene scene;
  Draws<double> draws(kSeed, 0, 0);
  for (int n = 0; n < 100; ++n) {
    double cube[4], local[3], expected[3];
    for (double* q : {cube, scene.state.orientation}) {
      for (int k = 0; k < 4; ++k) q[k] = draws.normal();
      mju_normalize4(q);
    }
    for (int k = 0; k < 4; ++k) scene.robot.set_qpos(scene.parts.cube.qpos + 3 + k, cube[k]);
    scene.robot.forward();
    mju_subQuat(local, scene.state.orientation, cube);
    mju_rotVecQuat(expected, local, cube);
    const std::vector<double> all = scene.observe();
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(all[all.size() - 3 + k], expected[k], 1e-9) << n << ", " << k;
    for (const double x : all) EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(Reorient, SuccessIsHalfASecondAtTheGoalWithoutInterruption) {
  Scene scene;
  const double at[] = {0, 0, kPalm};
  std::copy_n(at, 3, scene.state.position);
  const auto ends_after = [&](int steps) {
    for (int k = 1; k < steps; ++k) EXPECT_FALSE(scene.step().ends[0]) << k;
    return static_cast<bool>(scene.step().ends[0]);
  };
  scene.place({0.049, 0, kPalm}, 0.19);
  EXPECT_FALSE(ends_after(9));
  scene.place({0.051, 0, kPalm}, 0.19);
  EXPECT_FALSE(scene.step().ends[0]);
  scene.place({0.049, 0, kPalm}, 0.21);
  EXPECT_FALSE(scene.step().ends[0]);
  scene.place({0.049, 0, kPalm}, -0.19);
  EXPECT_TRUE(ends_after(10));
}

TEST(Reorient, ACubeThatIs15CentimetresAwayIsDropped) {
  Scene scene;
  const auto start = scene.robot.position(scene.parts.start);
  scene.place({start[0], start[1], start[2] - 0.149}, 0);
  EXPECT_FALSE(scene.step().ends[1]);
  scene.place({start[0], start[1], start[2] - 0.151}, 0);
  EXPECT_TRUE(scene.step().ends[1]);
}

TEST(Reorient, StartsWithTheCubeOnThePalmAndGoalsAsTheOptionsSay) {
  Scene scene;
  double least = 9, most = 0, farthest = 0, sum[3] = {}, turned = 0;
  constexpr int kEpisodes = 2000;
  for (uint64_t env = 0; env < kEpisodes; ++env) {
    Draws<double> draws(kSeed, env, 0);
    scene.robot.reset();
    Scene::Task::reset(scene.state, scene.robot, draws, scene.parts, scene.params);
    // The palm's normal, its x axis, points upwards: three joints with noise of up to 0.05 rad each tilt it either way.
    const auto up = common::in_body_frame(scene.robot.orientation(scene.parts.palm), Vec<double, 3>{{0, 0, 1}});
    EXPECT_GT(up[0], std::cos(0.15) * std::cos(0.2));
    const auto cube = scene.robot.position(scene.parts.box), palm = scene.robot.position(scene.parts.start);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(cube[k], palm[k], 1e-12);
      farthest = std::max(farthest, std::abs(scene.state.position[k] - cube[k]));
    }
    const auto q = scene.robot.orientation(scene.parts.box), hand = scene.robot.orientation(scene.parts.palm);
    double rotation[3], in_hand[3];
    mju_subQuat(rotation, scene.state.orientation, q.at);
    mju_subQuat(in_hand, q.at, hand.at);
    turned = std::max(turned, common::norm(in_hand, 3));
    EXPECT_NEAR(in_hand[1], 0, 1e-9);  // only about the palm's normal
    EXPECT_NEAR(in_hand[2], 0, 1e-9);
    const double angle = common::norm(rotation, 3);
    least = std::min(least, angle), most = std::max(most, angle);
    mju_rotVecQuat(rotation, rotation, q.at);
    for (int k = 0; k < 3; ++k) sum[k] += rotation[k] / angle;
  }
  EXPECT_NEAR(least, 0.5, 2e-3);
  EXPECT_NEAR(most, 1.5, 2e-3);
  EXPECT_NEAR(farthest, 0.05, 1e-4);
  EXPECT_NEAR(turned, common::kPi / 4, 2e-3);
  for (const double x : sum) EXPECT_NEAR(x / kEpisodes, 0, 0.06);  // the standard deviation is 0.013
}

}  // namespace
}  // namespace drl

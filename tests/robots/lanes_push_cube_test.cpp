// Compares PushCube in lanes with libmujoco, its arm with the maker's kinematics, and its rewards with values computed
// by hand.
#include "physics/push_cube.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/push_cube.hpp"
#include "task_on.hpp"

namespace drl {
namespace {

TEST(InLanes, PushCubeAgreesWithMujoco) { expect_equal_steps<PushCube>(); }

// A robot on which time stands still.
struct StillRobot : MujocoRobot {
  using MujocoRobot::MujocoRobot;
  void advance(const double* controls) { targets.assign(controls, controls + nu()); }
  std::vector<double> targets;
};

struct Scene : TaskOn<PushCube<StillRobot>, StillRobot> {
  using Task = PushCube<StillRobot>;

  Scene() {
    const double half_pi = common::kPi / 2, angles[] = {0, -half_pi, half_pi, -half_pi, -half_pi, 0};
    for (int k = 0; k < Task::joints; ++k) robot.set_qpos(parts.arm[k].qpos, angles[k]);
    robot.forward();
  }
};

// Upper arm up, forearm towards -x, gripper down. The lengths are the UR10's d1 = 0.1273, a2 = -0.612, a3 = -0.5723,
// d4 = 0.163941, d5 = 0.1157 and d6 = 0.0922 m, and the gripper's 0.16 m.
constexpr double kTool[] = {-0.5723 - 0.1157, -0.163941, 0.1273 + 0.612 - 0.0922 - 0.16};

TEST(PushCube, TheArmHasTheMakersKinematics) {
  Scene scene;
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(scene.robot.position(scene.parts.tool)[k], kTool[k], 1e-12) << k;
}

TEST(PushCube, RewardTermsEqualValuesComputedByHand) {
  Scene scene;
  // The goal is 0.12 m from the cube along x. The point 8 cm behind the cube is vertically below the tool.
  const int cube = scene.parts.cube.qpos;
  const double at[] = {kTool[0] + 0.08, kTool[1], 0.05};
  for (int k = 0; k < 3; ++k) scene.robot.set_qpos(cube + k, at[k]);
  scene.state.goal[0] = at[0] + 0.12, scene.state.goal[1] = at[1];
  scene.state.action[0] = 0.3, scene.state.action[1] = -0.1;
  const double action[] = {0.3, 0.3, 0, 0, 0, -0.3};
  const auto far = PushCube<StillRobot>::step(scene.state, scene.robot, action, scene.parts, scene.params);
  EXPECT_NEAR(far.terms[0], -std::tanh(3 * (kTool[2] - 0.05)), 1e-6);
  EXPECT_NEAR(far.terms[1], std::exp(-0.5) - 1, 1e-9);  // a distance of one standard deviation
  EXPECT_NEAR(far.terms[2], -0.5, 1e-9);                // the change is 0.4 and -0.3
  EXPECT_EQ(far.terms[3], 0);
  EXPECT_FALSE(far.ends[0]);
  EXPECT_NEAR(far.metrics[0], 0.12, 1e-12);
  EXPECT_NEAR(scene.robot.targets[1], -common::kPi / 2 + 0.03, 1e-12);  // 0.1 rad per unit

  scene.state.goal[0] = at[0] + 0.099;
  const auto near = PushCube<StillRobot>::step(scene.state, scene.robot, action, scene.parts, scene.params);
  EXPECT_EQ(near.terms[2], 0);
  EXPECT_EQ(near.terms[3], 1);
  EXPECT_TRUE(near.ends[0]);
}

TEST(PushCube, GoalsAreAsFarFromTheCubeAsTheOptionsSay) {
  Scene scene;
  double nearest = 1, farthest = 0, most = 0, sum[2] = {};
  constexpr int kEpisodes = 2000;
  for (uint64_t env = 0; env < kEpisodes; ++env) {
    Draws<double> draws(kSeed, env, 0);
    scene.robot.reset();
    PushCube<StillRobot>::reset(scene.state, scene.robot, draws, scene.parts, scene.params);
    const auto box = scene.robot.position(scene.parts.box);
    const double way[] = {scene.state.goal[0] - box[0], scene.state.goal[1] - box[1]}, far = common::norm(way, 2);
    nearest = std::min(nearest, far), farthest = std::max(farthest, far);
    most = std::max({most, std::abs(box[0] + 0.6), std::abs(box[1] + 0.4)});
    for (int k = 0; k < 2; ++k) sum[k] += way[k] / far;
  }
  EXPECT_NEAR(nearest, 0.2, 1e-3);
  EXPECT_NEAR(farthest, 0.3, 1e-3);
  EXPECT_NEAR(most, 0.1, 1e-3);
  for (const double x : sum) EXPECT_NEAR(x / kEpisodes, 0, 0.06);  // the standard deviation is 0.016
}

}  // namespace
}  // namespace drl

// Compares robots in lanes with libmujoco: drl's tasks, and one task of these tests.
#include "physics/ant.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/hopper.hpp"
#include "physics/humanoid.hpp"
#include "physics/humanoid_standup.hpp"
#include "physics/inverted_double_pendulum.hpp"
#include "physics/inverted_pendulum.hpp"
#include "physics/reacher.hpp"
#include "physics/swimmer.hpp"
#include "physics/walker2d.hpp"
// These must follow the headers of the physics.
#include "lanes_pair.hpp"
#include "lanes_robots.hpp"
#include "robots/ant.hpp"
#include "robots/half_cheetah.hpp"
#include "robots/hopper.hpp"
#include "robots/humanoid.hpp"
#include "robots/humanoid_standup.hpp"
#include "robots/inverted_double_pendulum.hpp"
#include "robots/inverted_pendulum.hpp"
#include "robots/reacher.hpp"
#include "robots/swimmer.hpp"
#include "robots/walker2d.hpp"

namespace drl {
namespace {

TEST(InLanes, InvertedPendulumAgreesWithMujoco) { expect_equal_steps<InvertedPendulum>(); }
TEST(InLanes, InvertedDoublePendulumAgreesWithMujoco) { expect_equal_steps<InvertedDoublePendulum>(); }
TEST(InLanes, ReacherAgreesWithMujoco) { expect_equal_steps<Reacher>(); }
TEST(InLanes, SwimmerAgreesWithMujoco) { expect_equal_steps<Swimmer>(); }
TEST(InLanes, HalfCheetahAgreesWithMujoco) { expect_equal_steps<HalfCheetah>(); }
TEST(InLanes, Walker2dAgreesWithMujoco) { expect_equal_steps<Walker2d>(); }
TEST(InLanes, AntAgreesWithMujoco) { expect_equal_steps<Ant>(); }
TEST(InLanes, HopperAgreesWithMujoco) { expect_equal_steps<Hopper>(); }
TEST(InLanes, HumanoidAgreesWithMujoco) { expect_equal_steps<Humanoid>(); }
TEST(InLanes, HumanoidStandupAgreesWithMujoco) { expect_equal_steps<HumanoidStandup>(); }
// Carrier has a State, calls forward(), has critic observations, and finds parts by name.
TEST(InLanes, CarrierAgreesWithMujoco) { expect_equal_steps<Carrier>(); }

// Like libmujoco, lanes treat an environment with numbers above 1e10 as diverged, although they are finite.
TEST(InLanes, EnvironmentsWithTooLargeNumbersAreLost) {
  using Lanes = PhysicsTask<HalfCheetah>::Of<double>;
  for (const double speed : {1e9, 2e10}) {
    Lanes::State state{};
    Lanes::Scratch first, second;
    Draws<double> draws(kSeed, 0, 0);
    const Lanes::Params params;
    const double action[6] = {};
    task::create<Lanes, double>(state, first, draws, params);
    task::reset<Lanes, double>(state, first, draws, params);
    for (double& x : state.physics.qvel) x = 0;
    state.physics.qpos[1] = 100, state.physics.qvel[0] = speed;  // far above the floor
    task::step<Lanes, double>(state, second, action, draws, params);
    EXPECT_NEAR(state.physics.qvel[0], speed, 1e-6 * speed);
    EXPECT_EQ(std::isfinite(state.physics.time), speed < 1e10) << speed;
  }
}

}  // namespace
}  // namespace drl

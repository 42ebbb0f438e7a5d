// Our tasks and one of these tests.
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
// Behind them.
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

TEST(InLanes, InvertedPendulumIsLibmujocos) { expect_equal_steps<InvertedPendulum>(); }
TEST(InLanes, InvertedDoublePendulumIsLibmujocos) { expect_equal_steps<InvertedDoublePendulum>(); }
TEST(InLanes, ReacherIsLibmujocos) { expect_equal_steps<Reacher>(); }
TEST(InLanes, SwimmerIsLibmujocos) { expect_equal_steps<Swimmer>(); }
TEST(InLanes, HalfCheetahIsLibmujocos) { expect_equal_steps<HalfCheetah>(); }
TEST(InLanes, Walker2dIsLibmujocos) { expect_equal_steps<Walker2d>(); }
TEST(InLanes, AntIsLibmujocos) { expect_equal_steps<Ant>(); }
TEST(InLanes, HopperIsLibmujocos) { expect_equal_steps<Hopper>(); }
TEST(InLanes, HumanoidIsLibmujocos) { expect_equal_steps<Humanoid>(); }
TEST(InLanes, HumanoidStandupIsLibmujocos) { expect_equal_steps<HumanoidStandup>(); }
// That remembers, looks ahead, tells a critic, and asks for parts by name.
TEST(InLanes, CarrierIsLibmujocos) { expect_equal_steps<Carrier>(); }

// What libmujoco calls diverged, numbers above 1e10, is lost although it is finite.
TEST(InLanes, NumbersThatAreTooLargeAreLost) {
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

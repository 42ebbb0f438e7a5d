// Compares actuators with values computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "drl/physics/loop.hpp"
#include "physics/pump.hpp"
#include "physics/rocket.hpp"

namespace drl {
namespace {

using namespace physics;

// A force of 3 N upwards, 0.5 m in front of the centre of 2 kg and 1 kg m^2, and a torque of 0.4 N m (rocket.xml). The
// body looks along y, so that the torque of the force is about the world's x axis, and qacc has it in the body's axes.
TEST(Actuator, OnASitePushesInItsAxes) {
  using P = rocket_robot::Physics<double>;
  const double half = std::sqrt(0.5), control = 0.7;
  P::State state{{0, 0, 0, half, 0, 0, half}, {}, {}, 0};
  P::Stage stage;
  evaluate<P>(state, &control, stage);
  const double expected[] = {0, 0, 1.5 * control, 0, -1.5 * control, 0.4 * control};
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(stage.qacc[k], expected[k], 1e-14) << k;
}

// The filter approaches its control of 1 by 1 - exp(-0.01 / 0.1) of the way in a step of 0.01 s. The muscle has its
// optimal length, 0.25 / 0.3 of its range from 0.75 to 1.05, where it pulls with 40 N times its activation; at 0.2 this
// rises with the time 0.01 (0.5 + 1.5 0.2) s.
TEST(Actuator, ActivationsFollowTheirControls) {
  using P = pump_robot::Physics<double>;
  const double control[] = {1, 1};
  P::State state{{0, 0.25 / 0.3}, {}, {}, 0, {0.2, 0.2}};
  P::Stage stage;
  step<P>(state, control, stage);
  EXPECT_NEAR(stage.qacc[0], 3 * 0.2 / 2, 1e-15);
  EXPECT_NEAR(stage.qacc[1], -40 * 0.2 / 2, 1e-14);
  EXPECT_NEAR(state.act[0], 0.2 + 0.8 * (1 - std::exp(-0.1)), 1e-15);
  EXPECT_NEAR(state.act[1], 0.2 + 0.01 * 0.8 / (0.01 * 0.8), 1e-14);
}

}  // namespace
}  // namespace drl

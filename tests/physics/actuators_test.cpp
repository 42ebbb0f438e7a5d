// Compares actuators with values computed by hand.
#include <gtest/gtest.h>

#include "tendon_robots.hpp"

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

}  // namespace
}  // namespace drl

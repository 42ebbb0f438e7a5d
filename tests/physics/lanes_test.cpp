// Tests robots with pyramidal cones in lanes.
#include "lanes.hpp"

#include "robots.hpp"

namespace drl {
namespace {

TEST(Lanes, OfInvertedDoublePendulumAreIndependentAndAccurate) {
  expect_lanes<inverted_double_pendulum_robot>("src/robots/models/inverted_double_pendulum.xml");
}
TEST(Lanes, OfHalfCheetahAreIndependentAndAccurate) {
  expect_lanes<half_cheetah_robot>("src/robots/models/half_cheetah.xml");
}
TEST(Lanes, OfHopperAreIndependentAndAccurate) { expect_lanes<hopper_robot>("src/robots/models/hopper.xml"); }
TEST(Lanes, OfHumanoidAreIndependentAndAccurate) { expect_lanes<humanoid_robot>("src/robots/models/humanoid.xml"); }
TEST(Lanes, OfSwimmerAreIndependentAndAccurate) { expect_lanes<swimmer_robot>("src/robots/models/swimmer.xml"); }
TEST(Lanes, OfTangleAreIndependentAndAccurate) { expect_lanes<tangle_robot>("tests/physics/models/tangle.xml"); }
TEST(Lanes, OfAntAreIndependentAndAccurate) { expect_lanes<ant_robot>("src/robots/models/ant.xml"); }

}  // namespace
}  // namespace drl

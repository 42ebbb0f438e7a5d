// The robots of pyramidal cones.
#include "lanes.hpp"

#include "robots.hpp"

namespace drl {
namespace {

TEST(Lanes, OfInvertedDoublePendulum) {
  expect_lanes<inverted_double_pendulum_robot>("src/robots/models/inverted_double_pendulum.xml");
}
TEST(Lanes, OfHalfCheetah) { expect_lanes<half_cheetah_robot>("src/robots/models/half_cheetah.xml"); }
TEST(Lanes, OfHopper) { expect_lanes<hopper_robot>("src/robots/models/hopper.xml"); }
TEST(Lanes, OfHumanoid) { expect_lanes<humanoid_robot>("src/robots/models/humanoid.xml"); }
TEST(Lanes, OfSwimmer) { expect_lanes<swimmer_robot>("src/robots/models/swimmer.xml"); }
TEST(Lanes, OfTangle) { expect_lanes<tangle_robot>("tests/physics/models/tangle.xml"); }
TEST(Lanes, OfAnt) { expect_lanes<ant_robot>("src/robots/models/ant.xml"); }

}  // namespace
}  // namespace drl

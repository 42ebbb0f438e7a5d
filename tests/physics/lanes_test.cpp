// Robots with pyramidal cones.
#include "lanes.hpp"

#include "robots.hpp"

namespace drl {
namespace {

TEST(Lanes, InvertedDoublePendulum) {
  expect_lanes<inverted_double_pendulum_robot>("src/robots/models/inverted_double_pendulum.xml");
}
TEST(Lanes, HalfCheetah) { expect_lanes<half_cheetah_robot>("src/robots/models/half_cheetah.xml"); }
TEST(Lanes, Hopper) { expect_lanes<hopper_robot>("src/robots/models/hopper.xml"); }
TEST(Lanes, Humanoid) { expect_lanes<humanoid_robot>("src/robots/models/humanoid.xml"); }
TEST(Lanes, Swimmer) { expect_lanes<swimmer_robot>("src/robots/models/swimmer.xml"); }
TEST(Lanes, Tangle) { expect_lanes<tangle_robot>("tests/physics/models/tangle.xml"); }
TEST(Lanes, Ant) { expect_lanes<ant_robot>("src/robots/models/ant.xml"); }

}  // namespace
}  // namespace drl

// Go1-Velocity-Flat, where tools/fetch_robots has brought the robot.
#include "physics/go1.hpp"
// Behind it.
#include "lanes_pair.hpp"
#include "robots/go1_velocity_flat.hpp"

namespace drl {
namespace {

TEST(InLanes, Go1VelocityFlatIsLibmujocos) { expect_equal_steps<Go1VelocityFlat>(); }

}  // namespace
}  // namespace drl

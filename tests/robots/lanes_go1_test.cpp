// Compares Go1-Velocity-Flat in lanes with libmujoco. Built only if tools/fetch_robots has downloaded the robot.
#include "physics/go1.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/go1_velocity_flat.hpp"

namespace drl {
namespace {

TEST(InLanes, Go1VelocityFlatAgreesWithMujoco) { expect_equal_steps<Go1VelocityFlat>(); }

}  // namespace
}  // namespace drl

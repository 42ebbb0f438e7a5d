// Compares G1-Velocity-Flat in lanes with libmujoco. Built only if tools/fetch_robots has downloaded the robot.
#include "physics/g1.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/g1_velocity_flat.hpp"

namespace drl {
namespace {

TEST(InLanes, G1VelocityFlatAgreesWithMujoco) { expect_equal_steps<G1VelocityFlat>(); }

}  // namespace
}  // namespace drl

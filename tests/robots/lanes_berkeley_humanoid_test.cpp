// Compares BerkeleyHumanoid-Velocity-Flat in lanes with libmujoco. Built only if "tools/fetch_robots berkeley" has
// downloaded the robot.
#include "physics/berkeley_humanoid.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/berkeley_humanoid_velocity_flat.hpp"
#include "velocity_model.hpp"

namespace drl {
namespace {

TEST(InLanes, BerkeleyHumanoidVelocityFlatAgreesWithMujoco) { expect_equal_steps<BerkeleyHumanoidVelocityFlat>(); }
TEST(Model, HasTheNumbersOfBerkeleyHumanoidsHeader) { expect_header_agrees_with_model<BerkeleyHumanoid>(16.06); }

}  // namespace
}  // namespace drl

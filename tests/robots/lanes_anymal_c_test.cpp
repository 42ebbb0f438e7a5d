// Compares AnymalC-Velocity-Flat in lanes with libmujoco. Built only if "tools/fetch_robots anymal_c" has downloaded
// the robot.
#include "physics/anymal_c.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/anymal_c_velocity_flat.hpp"
#include "velocity_model.hpp"

namespace drl {
namespace {

TEST(InLanes, AnymalCVelocityFlatAgreesWithMujoco) { expect_equal_steps<AnymalCVelocityFlat>(); }
TEST(Model, HasTheNumbersOfAnymalCsHeader) { expect_header_agrees_with_model<AnymalC>(44.97); }

}  // namespace
}  // namespace drl

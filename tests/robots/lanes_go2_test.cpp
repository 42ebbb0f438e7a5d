// Compares Go2-Velocity-Flat in lanes with libmujoco. Built only if "tools/fetch_robots go2" has downloaded the robot.
#include "physics/go2.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/go2_velocity_flat.hpp"
#include "velocity_model.hpp"

namespace drl {
namespace {

TEST(InLanes, Go2VelocityFlatAgreesWithMujoco) { expect_equal_steps<Go2VelocityFlat>(); }
TEST(Model, HasTheNumbersOfGo2sHeader) { expect_header_agrees_with_model<Go2>(15); }

}  // namespace
}  // namespace drl

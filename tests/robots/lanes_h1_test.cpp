// Compares H1-Velocity-Flat in lanes with libmujoco. Built only if "tools/fetch_robots h1" has downloaded the robot.
#include "physics/h1.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/h1_velocity_flat.hpp"
#include "velocity_model.hpp"

namespace drl {
namespace {

TEST(InLanes, H1VelocityFlatAgreesWithMujoco) { expect_equal_steps<H1VelocityFlat>(); }
TEST(Model, HasTheNumbersOfH1sHeader) { expect_header_agrees_with_model<H1>(51.44); }

}  // namespace
}  // namespace drl

// Compares Spot-Velocity-Flat in lanes with libmujoco. Built only if "tools/fetch_robots spot" has downloaded the
// robot.
#include "physics/spot.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/spot_velocity_flat.hpp"
#include "velocity_model.hpp"

namespace drl {
namespace {

TEST(InLanes, SpotVelocityFlatAgreesWithMujoco) { expect_equal_steps<SpotVelocityFlat>(); }
TEST(Model, HasTheNumbersOfSpotsHeader) { expect_header_agrees_with_model<Spot>(50.34); }

}  // namespace
}  // namespace drl

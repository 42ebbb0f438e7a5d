// Compares G1-Velocity-Flat and G1-Tracking in lanes with libmujoco. Built only if tools/fetch_robots has downloaded
// the robot.
#include "physics/g1.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/g1_tracking.hpp"
#include "robots/g1_velocity_flat.hpp"

namespace drl {
namespace {

TEST(InLanes, G1VelocityFlatAgreesWithMujoco) { expect_equal_steps<G1VelocityFlat>(); }
TEST(InLanes, G1TrackingAgreesWithMujoco) {
  G1Tracking<MujocoRobot>::Params().prepare(find_model(G1Follower::model, nullptr));
  expect_equal_steps<G1Tracking>();
}

}  // namespace
}  // namespace drl

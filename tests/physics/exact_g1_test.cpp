// Tests Unitree's G1. Built only if tools/fetch_robots has downloaded the robot.
#include "drl/physics/loop.hpp"
#include "exact.hpp"
#include "lanes.hpp"
#include "physics/g1.hpp"

namespace drl {
namespace {

template <>
struct Files<g1_robot> {
  static constexpr const char* file = DRL_MODELS "/g1.xml";
};
INSTANTIATE_TYPED_TEST_SUITE_P(G1, Exact, g1_robot);
// The error is 3.7e-4. It was 1.6e-3 without distances from the floor in double and the last refinement of a solution:
// a foot touches the floor with up to 14 points that are a few centimetres apart.
TEST(Lanes, OfG1AreIndependentAndAccurate) { expect_lanes<g1_robot>(Files<g1_robot>::file, 5e-4); }

}  // namespace
}  // namespace drl

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
TEST(Lanes, OfG1AreIndependentAndAccurate) { expect_lanes<g1_robot>(Files<g1_robot>::file); }

}  // namespace
}  // namespace drl

// Tests robots with equality constraints.
#include "equality_robots.hpp"
#include "exact.hpp"
#include "lanes.hpp"

namespace drl {
namespace {

template <>
struct Files<coupled_robot> {
  static constexpr const char* file = "tests/physics/models/coupled.xml";
};
template <>
struct Files<linkage_robot> {
  static constexpr const char* file = "tests/physics/models/linkage.xml";
};
using EqualityRobots = testing::Types<coupled_robot, linkage_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Equalities, Exact, EqualityRobots);
TEST(Lanes, OfCoupledAreIndependentAndAccurate) { expect_lanes<coupled_robot>(Files<coupled_robot>::file); }
TEST(Lanes, OfLinkageAreIndependentAndAccurate) { expect_lanes<linkage_robot>(Files<linkage_robot>::file); }

}  // namespace
}  // namespace drl

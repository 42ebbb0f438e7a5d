// Tests contacts between all kinds of shapes, with friction of all dimensions.
#include "exact.hpp"
#include "lanes.hpp"
#include "stack_robots.hpp"

namespace drl {
namespace {

// Shapes whose contacts have closed forms, in pyramids and in elliptic cones: on planes that are tilted, on a table of
// the world, and on each other.
template <>
struct Files<stack_robot> {
  static constexpr const char* file = "tests/physics/models/stack.xml";
};
template <>
struct Files<stack_elliptic_robot> {
  static constexpr const char* file = "tests/physics/models/stack_elliptic.xml";
};
// More than 1,000 pairs, in groups.
template <>
struct Files<stairs_robot> {
  static constexpr const char* file = "tests/physics/models/stairs.xml";
};
template <>
struct Files<spinners_robot> {
  static constexpr const char* file = "tests/physics/models/spinners.xml";
};
template <>
struct Files<slope_robot> {
  static constexpr const char* file = "tests/physics/models/slope.xml";
};
using Stacks = testing::Types<spinners_robot, slope_robot, stack_robot, stack_elliptic_robot, stairs_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Stacks, Exact, Stacks);
TEST(Lanes, OfStairsAreIndependentAndAccurate) { expect_lanes<stairs_robot>(Files<stairs_robot>::file); }

// A step finds the pairs that are near group by group; testing each pair must find the same ones.
TEST(PairGroups, FindAllPairsThatAreNear) {
  using P = stairs_robot::Physics<double>;
  test::Compared<P> compared(Files<stairs_robot>::file);
  const auto work = std::make_unique<P::Work>();
  int near = 0;
  for (int k = 0; k < 300; ++k) {
    compared.set(k % 2 == 0 ? compared.reference.next_state() : compared.reference.folded_state());
    P::smooth(compared.state.qpos, compared.state.qvel, compared.ctrl, *work);
    physics::place_still_geoms<P>(*work);
    physics::find_near_pairs<P>(*work);
    std::vector<uint32_t> expected;
    for (int p = P::kGroundPairs; p < P::kGroundPairs + P::kPairs; ++p)
      if (physics::may_touch<P>(*work, P::pair(p))) expected.push_back(static_cast<uint32_t>(p));
    ASSERT_EQ(std::vector<uint32_t>(work->near_pair, work->near_pair + work->near_pairs), expected) << "state " << k;
    near += work->near_pairs;
  }
  EXPECT_GE(near, 1000);
}

TEST(Lanes, OfStackAreIndependentAndAccurate) { expect_lanes<stack_robot>(Files<stack_robot>::file); }
TEST(Lanes, OfEllipticStackAreIndependentAndAccurate) {
  expect_lanes<stack_elliptic_robot>(Files<stack_elliptic_robot>::file);
}

// Shapes whose distance is found by iteration, to within 1e-6 of a length: the normal of two curved surfaces, and with
// it an acceleration, differs by about the square root of that in the worst case.
TEST(Heap, IsAsCloseToLibmujocoAsItsNarrowPhase) {
  test::Compared<heap_robot::Physics<double>> compared("tests/physics/models/heap.xml");
  const int nv = static_cast<int>(compared.reference.model().nv);
  std::vector<double> errors;
  int touching_itself = 0;
  for (int k = 0; k < 600; ++k) {
    const RobotState from = compared.reference.next_state();
    const mjData& expected = compared.reference.after_forward(from);
    touching_itself += compared.reference.pair_contacts(expected) > 1 ? 1 : 0;
    compared.set(from);
    physics::evaluate<heap_robot::Physics<double>>(compared.state, compared.ctrl, compared.stage);
    EXPECT_EQ(compared.stage.unsolved, 0) << "state " << k;
    errors.push_back(test::difference(compared.stage.qacc, expected.qacc, nv));
  }
  std::ranges::sort(errors);
  EXPECT_LE(errors[300], 1e-4);
  EXPECT_LE(errors[593], 1e-3);
  EXPECT_GE(touching_itself, 100);
}
TEST(Lanes, OfHeapAreIndependentAndAccurate) { expect_lanes<heap_robot>("tests/physics/models/heap.xml"); }

}  // namespace
}  // namespace drl

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
using Stacks = testing::Types<stack_robot, stack_elliptic_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Stacks, Exact, Stacks);
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

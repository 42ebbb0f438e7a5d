// Tests robots whose motions, forces and mass matrix are computed in loops over tables.
#include "exact.hpp"
#include "lanes.hpp"
#include "tree_robots.hpp"

namespace drl {
namespace {

template <>
struct Files<snake_robot> {
  static constexpr const char* file = "tests/physics/models/snake.xml";
};
template <>
struct Files<snake_alone_robot> {
  static constexpr const char* file = "tests/physics/models/snake_alone.xml";
};
template <>
struct Files<snake_noslip_robot> {
  static constexpr const char* file = "tests/physics/models/snake_noslip.xml";
};

template <>
struct Files<serpents_robot> {
  static constexpr const char* file = "tests/physics/models/serpents.xml";
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Exact);  // this test only uses its fixture
template <class Robot>
class Trees : public Exact<Robot> {};
using TreeRobots = testing::Types<snake_robot, snake_alone_robot, snake_noslip_robot>;
TYPED_TEST_SUITE(Trees, TreeRobots);

TYPED_TEST(Trees, MatchLibmujoco) {
  using P = typename TypeParam::template Physics<double>;
  ASSERT_EQ(P::tree_row(P::nv), 300);  // entries of a chain of 24 degrees of freedom
  int touching = 0, touching_itself = 0;
  for (int k = 0; k < 600; ++k) {
    const mjData& expected = this->compared.expect_step(this->reference.next_state());
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
    touching += expected.ncon > 0 ? 1 : 0;
  }
  for (int k = 0; k < 300; ++k) {
    const RobotState from = k % 2 == 0 ? this->reference.extreme_state() : this->reference.folded_state();
    const mjData& expected = this->reference.after_forward(from);
    touching_itself += this->reference.pair_contacts(expected) > 0 ? 1 : 0;
    this->expect_evaluation(from);
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
  EXPECT_GE(touching, 200);
  EXPECT_GE(touching_itself, P::kPairCones > 0 ? 10 : 0);
  for (int k = 0; k < 5; ++k) this->compared.expect_run(this->reference.next_state(), 100);
}

// The loops compute all kinds of joints, frames that do not move, several trees, and sensors of loads, energies, limits
// and distances.
using Serpents = Exact<serpents_robot>;
TEST_F(Serpents, MatchLibmujoco) {
  int touching = 0;
  for (int k = 0; k < 600; ++k) {
    const mjData& expected = compared.expect_step(reference.next_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
    touching += expected.ncon > 0 ? 1 : 0;
  }
  EXPECT_GE(touching, 200);
  for (int k = 0; k < 300; ++k) {
    expect_evaluation(reference.extreme_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
  for (int k = 0; k < 5; ++k) compared.expect_run(reference.next_state(), 100);
}
// Float has an error of 4e-4 in the straight-line code of this robot, too.
TEST(Lanes, OfSerpentsAreIndependentAndAccurate) { expect_lanes<serpents_robot>(Files<serpents_robot>::file, 1e-3); }
TEST(Lanes, OfSnakeAreIndependentAndAccurate) { expect_lanes<snake_robot>(Files<snake_robot>::file); }

}  // namespace
}  // namespace drl

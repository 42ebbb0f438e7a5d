// Tests robots' physics in double, one lane at a time, against libmujoco.
#pragma once

#include "compared.hpp"

namespace drl {
namespace {

using test::Compared;
using test::RobotState;

// The path of a robot's model, relative to the project's root.
template <class Robot>
struct Files;

template <class Robot>
class Exact : public testing::Test {
 protected:
  using P = typename Robot::template Physics<double>;
  // Compares a state without a step. A state with more contacts between geoms than places must count as not solved.
  void expect_evaluation(const RobotState& from) {
    const mjData& expected = reference.after_forward(from);
    if (reference.pair_rows(expected, P::kGroundPairs == 0) <= P::kPairRows &&
        (P::kCones == 0 || reference.pair_cones(expected) <= P::kPairCones)) {
      compared.expect_evaluation(from);
      return;
    }
    compared.set(from);
    physics::evaluate<P>(compared.state, compared.ctrl, compared.stage);
    ASSERT_EQ(compared.stage.unsolved, 1);
  }

  Compared<P> compared{Files<Robot>::file};
  test::Reference& reference = compared.reference;
};
TYPED_TEST_SUITE_P(Exact);

TYPED_TEST_P(Exact, StepsMatchLibmujoco) {
  using P = typename TestFixture::P;
  constexpr int kTouchingItself = P::kPairs > 0 ? 40 : 0;  // rare in random motion
  int touching = 0, touching_itself = 0;
  for (int k = 0; k < 3000 || (touching_itself < kTouchingItself && k < 60000); ++k) {
    if (k % 50 == 49) this->compared.vary();
    const mjData& expected = this->compared.expect_step(this->reference.next_state());
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
    touching += expected.ncon > 0 ? 1 : 0;
    touching_itself += this->reference.pair_contacts(expected) > 0 ? 1 : 0;
  }
  EXPECT_GE(touching, P::kContacts + P::kCones > 0 ? 500 : 0);
  EXPECT_GE(touching_itself, kTouchingItself);
}

TYPED_TEST_P(Exact, LongRunsStayCloseToLibmujoco) {
  for (int k = 0; k < 20; ++k) {
    for (int t = 0; t < 35; ++t) this->reference.next_state();
    this->compared.expect_run(this->reference.next_state(), 200);
    ASSERT_FALSE(this->HasFailure()) << "run " << k;
  }
}

TYPED_TEST_P(Exact, ExtremeStatesMatchLibmujoco) {
  for (int k = 0; k < 300; ++k) {
    this->expect_evaluation(this->reference.extreme_state());
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
}

// Compares states in which geoms penetrate each other; a humanoid has up to twenty such pairs. States in which the axes
// of two capsules meet (they do in a plane) are skipped, because there the direction of libmujoco's normal is only
// rounding error.
TYPED_TEST_P(Exact, SelfPenetrationMatchesLibmujoco) {
  using P = typename TestFixture::P;
  int touching_itself = 0;
  for (int k = 0; k < 500; ++k) {
    const RobotState from = this->reference.folded_state();
    const mjData& expected = this->reference.after_forward(from);
    if (this->reference.axes_meet(expected)) continue;
    touching_itself += this->reference.pair_contacts(expected) > 0 ? 1 : 0;
    this->expect_evaluation(from);
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
  EXPECT_GE(touching_itself, P::kPairs > 0 ? 40 : 0);
}

REGISTER_TYPED_TEST_SUITE_P(Exact, StepsMatchLibmujoco, LongRunsStayCloseToLibmujoco, ExtremeStatesMatchLibmujoco,
                            SelfPenetrationMatchesLibmujoco);

}  // namespace
}  // namespace drl

// Robots' physics in double, a lane at a time, against libmujoco.
#pragma once

#include "compared.hpp"

namespace drl {
namespace {

using test::Compared;
using test::RobotState;

// Where a robot's model is, below the project's root.
template <class Robot>
struct Files;

template <class Robot>
class Exact : public testing::Test {
 protected:
  using P = typename Robot::template Physics<double>;
  Compared<P> compared{Files<Robot>::file};
  test::Reference& reference = compared.reference;
};
TYPED_TEST_SUITE_P(Exact);

TYPED_TEST_P(Exact, StepsAsLibmujocoDoes) {
  using P = typename TestFixture::P;
  constexpr int kTouchingItself = P::kPairs > 0 ? 40 : 0;  // which random motion seldom comes to
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

TYPED_TEST_P(Exact, LeftToItselfStaysAsNearAsLibmujocoToItself) {
  for (int k = 0; k < 20; ++k) {
    for (int t = 0; t < 35; ++t) this->reference.next_state();
    this->compared.expect_run(this->reference.next_state(), 200);
    ASSERT_FALSE(this->HasFailure()) << "run " << k;
  }
}

TYPED_TEST_P(Exact, ExtremesAsLibmujocoHasThem) {
  for (int k = 0; k < 300; ++k) {
    this->compared.expect_look(this->reference.extreme_state());
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
}

// Parts within each other, of the humanoids twenty pairs at once. Where the axes of two capsules meet, as they do in a
// plane, libmujoco's direction from one to the other is what rounding leaves.
TYPED_TEST_P(Exact, SelfPenetrationAsLibmujocoHasIt) {
  using P = typename TestFixture::P;
  int touching_itself = 0;
  for (int k = 0; k < 500; ++k) {
    const RobotState from = this->reference.folded_state();
    const mjData& expected = this->reference.after_forward(from);
    if (this->reference.axes_meet(expected)) continue;
    if (P::kCones > 0 && this->reference.pair_cones(expected) > P::kPairCones) {
      this->compared.set(from);
      physics::look<P>(this->compared.state, this->compared.ctrl, this->compared.stage);
      ASSERT_EQ(this->compared.stage.unsolved, 1);  // more places than the solver has
      continue;
    }
    touching_itself += this->reference.pair_contacts(expected) > 0 ? 1 : 0;
    this->compared.expect_look(from);
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
  EXPECT_GE(touching_itself, P::kPairs > 0 ? 40 : 0);
}

REGISTER_TYPED_TEST_SUITE_P(Exact, StepsAsLibmujocoDoes, LeftToItselfStaysAsNearAsLibmujocoToItself,
                            ExtremesAsLibmujocoHasThem, SelfPenetrationAsLibmujocoHasIt);

}  // namespace
}  // namespace drl

// Robots' physics in double, a lane at a time, against libmujoco.
#pragma once

#include <gtest/gtest.h>

#include "drl/physics_support.hpp"
#include "reference.hpp"

namespace drl {
namespace {

using test::difference;
using test::Reference;
using test::RobotState;

// Where a robot's model is, below the project's root.
template <class Robot>
struct Files;

template <class Robot>
class Exact : public testing::Test {
 protected:
  using P = typename Robot::template Physics<double>;

  Exact() { physics::begin_parameters<P>(stage); }

  // Other frictions and centres of mass, where the model has those that environments change.
  void vary() {
    if constexpr (P::kParameters > 0)
      for (int p = 0; 3 * p < P::kParameters; ++p) {
        const physics::Parameter& parameter = P::parameters[p];
        const bool is_friction = parameter.kind == physics::Parameter::friction;
        double* own = stage.own + 3 * p;
        for (int k = 0; k < 3; ++k)
          own[k] = is_friction ? parameter.start[k] * std::exp(reference.draw()) : 0.03 * reference.draw();
        is_friction ? reference.set_friction(parameter.index, own)
                    : reference.shift_center_of_mass(parameter.index, own);
      }
  }
  void set(const RobotState& from) {
    std::ranges::copy(from.qpos, state.qpos);
    std::ranges::copy(from.qvel, state.qvel);
    std::ranges::copy(from.warm_start, state.warm_start);
    state.time = 0;
  }
  // Within 1e-10, or a hundred times what another warm start changes in libmujoco.
  void expect_qacc(const mjData& expected, const std::vector<double>& from_zero) {
    const double own = difference(from_zero.data(), expected.qacc, P::nv);
    ASSERT_LE(difference(stage.qacc, expected.qacc, P::nv), std::max(1e-10, 100 * own));
    ASSERT_EQ(stage.unsolved, 0);
  }
  // All of a state that is not stepped.
  void expect_look(const RobotState& from) {
    const mjData& from_zero = reference.after_forward(from, false);
    const std::vector<double> other(from_zero.qacc, from_zero.qacc + P::nv);
    const mjData& expected = reference.after_forward(from);
    set(from);
    physics::look<P>(state, from.ctrl.data(), stage);
    ASSERT_NO_FATAL_FAILURE(expect_qacc(expected, other));
    ASSERT_NO_FATAL_FAILURE(expect_seen(expected));
  }
  void expect_seen(const mjData& d) {
    physics::see<P>(stage, seen);
    constexpr double kSame = 1e-9;
    constexpr int nbody = P::nbody;
    ASSERT_LE(difference(&seen.xpos[0][0], d.xpos, 3 * nbody), kSame);
    ASSERT_LE(difference(&seen.xquat[0][0], d.xquat, 4 * nbody), kSame);
    ASSERT_LE(difference(&seen.xipos[0][0], d.xipos, 3 * nbody), kSame);
    ASSERT_LE(difference(&seen.subtree_com[0][0], d.subtree_com, 3 * nbody), kSame);
    ASSERT_LE(difference(&seen.geom_xpos[0][0], d.geom_xpos, 3 * P::ngeom), kSame);
    ASSERT_LE(difference(&seen.site_xpos[0][0], d.site_xpos, 3 * P::nsite), kSame);
    ASSERT_LE(difference(seen.cinert[1], d.cinert + 10, 10 * (nbody - 1)), kSame);
    ASSERT_LE(difference(seen.cvel[1], d.cvel + 6, 6 * (nbody - 1)), kSame);
    ASSERT_LE(difference(seen.cfrc_ext[1], d.cfrc_ext + 6, 6 * (nbody - 1)), kSame);
    ASSERT_LE(difference(seen.qfrc_actuator, d.qfrc_actuator, P::nv), kSame);
    ASSERT_LE(difference(seen.qfrc_constraint, d.qfrc_constraint, P::nv), kSame);
    ASSERT_LE(difference(seen.actuator_force, d.actuator_force, P::nu), kSame);
    if constexpr (P::kSensorNumbers > 0)
      for (int k = 0; k < P::kSensorNumbers; ++k) {
        const int place = P::sensor_place[k];
        const double sensed = place < 0 ? seen.sensor[k] : stage.sensed[place / 4][place % 4];
        ASSERT_LE(difference(&sensed, d.sensordata + k, 1), kSame) << "sensor " << k;
      }
  }

  Reference reference{Files<Robot>::file};
  typename P::State state;
  typename P::Stage stage;
  typename P::Seen seen;
};
TYPED_TEST_SUITE_P(Exact);

// All that is left after a step, of its last stage.
TYPED_TEST_P(Exact, StepsAsLibmujocoDoes) {
  using P = typename TestFixture::P;
  int touching = 0, touching_itself = 0;
  for (int k = 0; k < 3000; ++k) {
    if (k % 50 == 49) this->vary();
    const RobotState from = this->reference.next_state();
    const mjData& from_zero = this->reference.after_step(from, false);
    const std::vector<double> other(from_zero.qacc, from_zero.qacc + P::nv);
    const mjData& expected = this->reference.after_step(from);
    touching += expected.ncon > 0 ? 1 : 0;
    touching_itself += this->reference.pair_contacts(expected) > 0 ? 1 : 0;
    this->set(from);
    physics::step<P>(this->state, from.ctrl.data(), this->stage);
    ASSERT_NO_FATAL_FAILURE(this->expect_qacc(expected, other)) << "state " << k;
    ASSERT_NO_FATAL_FAILURE(this->expect_seen(expected)) << "state " << k;
    ASSERT_LE(difference(this->state.qpos, expected.qpos, P::nq), 1e-10);
    ASSERT_LE(difference(this->state.qvel, expected.qvel, P::nv), 1e-10);
    ASSERT_NEAR(this->state.time, expected.time, 1e-15);
  }
  EXPECT_GE(touching, P::kContacts + P::kCones > 0 ? 500 : 0);
  EXPECT_GE(touching_itself, P::kPairs > 0 ? 40 : 0);
}

TYPED_TEST_P(Exact, ExtremesAsLibmujocoHasThem) {
  for (int k = 0; k < 300; ++k)
    ASSERT_NO_FATAL_FAILURE(this->expect_look(this->reference.extreme_state())) << "state " << k;
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
      this->set(from);
      physics::look<P>(this->state, from.ctrl.data(), this->stage);
      ASSERT_EQ(this->stage.unsolved, 1);  // more places than the solver has
      continue;
    }
    touching_itself += this->reference.pair_contacts(expected) > 0 ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(this->expect_look(from)) << "state " << k;
  }
  EXPECT_GE(touching_itself, P::kPairs > 0 ? 40 : 0);
}

REGISTER_TYPED_TEST_SUITE_P(Exact, StepsAsLibmujocoDoes, ExtremesAsLibmujocoHasThem, SelfPenetrationAsLibmujocoHasIt);

}  // namespace
}  // namespace drl

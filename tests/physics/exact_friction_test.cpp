// Tests robots with dry friction.
#include <cmath>

#include "exact.hpp"
#include "friction_robots.hpp"
#include "lanes.hpp"

namespace drl {
namespace {

template <>
struct Files<slider_robot> {
  static constexpr const char* file = "tests/physics/models/slider.xml";
};
template <>
struct Files<manipulator_robot> {
  static constexpr const char* file = "tests/physics/models/manipulator.xml";
};
using FrictionRobots = testing::Types<slider_robot, manipulator_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Friction, Exact, FrictionRobots);
TEST(Lanes, OfSliderAreIndependentAndAccurate) { expect_lanes<slider_robot>(Files<slider_robot>::file); }
TEST(Lanes, OfManipulatorAreIndependentAndAccurate) { expect_lanes<manipulator_robot>(Files<manipulator_robot>::file); }

// Contacts with constant distances, whose friction alone depends on the state.
TEST(Skid, MatchesLibmujoco) {
  test::Compared<skid_robot::Physics<double>> compared("tests/physics/models/skid.xml");
  for (int k = 0; k < 200; ++k) {
    const mjData& expected = compared.expect_step(compared.reference.next_state());
    EXPECT_EQ(expected.ncon, 1);
    ASSERT_FALSE(testing::Test::HasFailure()) << "state " << k;
  }
}

// Half of the states are fast, deep in limits and contacts; the others creep near their start with idle motors. The
// warm starts are far from the solution. The test counts how often each joint sticks, or slips in either direction.
using ManipulatorTest = Exact<manipulator_robot>;
TEST_F(ManipulatorTest, SticksAndSlipsLikeLibmujoco) {
  enum { kPan, kPin = 7, kJoints };
  int sticking[kJoints] = {}, slipping[kJoints] = {}, slipping_back[kJoints] = {}, limits = 0, contacts = 0;
  const auto is_position = [&](size_t a) { return reference.model().actuator_biasprm[mjNBIAS * a + 1] < 0; };
  for (int k = 0; k < 1000; ++k) {
    const bool is_fast = k % 2 == 0;
    RobotState from = is_fast ? reference.extreme_state() : reference.state_near_start();
    const double middle = is_fast ? 0.01 : 1e-5;
    for (double& v : from.qvel) v = std::copysign(middle * std::pow(10, 3 * reference.draw()), reference.draw());
    for (size_t a = 0; a < from.ctrl.size() && !is_fast; ++a) from.ctrl[a] = is_position(a) ? from.qpos[a] : 0;
    for (double& a : from.warm_start) a = std::copysign(std::pow(10, 3 * reference.draw()), reference.draw());
    const mjData& expected = compared.expect_evaluation(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
    limits += expected.nl > 0 ? 1 : 0, contacts += expected.ncon > 0 ? 1 : 0;
    for (int f = 0; f < expected.nf; ++f) {
      const int dof = expected.efc_id[f], joint = reference.model().dof_jntid[dof];
      if (joint == kPin && dof < kPin + 3) continue;  // it is in free fall
      const double force = expected.efc_force[f], most = expected.efc_frictionloss[f];
      (std::abs(force) < most ? sticking : force > 0 ? slipping : slipping_back)[joint] += 1;
    }
  }
  EXPECT_GE(limits, 300);
  EXPECT_GE(contacts, 300);
  for (const int joint : {0, 1, 2, 3, 4, 5, 7}) {
    EXPECT_GE(sticking[joint], 400) << joint;
    EXPECT_GE(std::min(slipping[joint], slipping_back[joint]), joint == kPan ? 20 : 100) << joint;
  }
}

// During one second from rest, the wrist stays where it is although its motors are idle. Without friction it falls.
TEST_F(ManipulatorTest, FrictionHoldsTheWristUp) {
  using P = manipulator_robot::Physics<double>;
  const auto model = load_model(std::string(DRL_TEST_DATA) + "/../" + Files<manipulator_robot>::file);
  const int bend = model->jnt_qposadr[mj_name2id(model.get(), mjOBJ_JOINT, "bend")];
  std::fill_n(model->dof_frictionloss, model->nv, 0);
  const std::unique_ptr<mjData, test::DeleteData> without(mj_makeData(model.get()));
  compared.set({{model->qpos0, model->qpos0 + model->nq},
                std::vector<double>(13),
                std::vector<double>(13),
                std::vector<double>(7)});
  for (int t = 0; t < 500; ++t) {
    physics::step<P>(compared.state, compared.ctrl, compared.stage);
    mj_step(model.get(), without.get());
  }
  EXPECT_LT(std::abs(compared.state.qpos[bend]), 0.01);
  EXPECT_GT(std::abs(without->qpos[bend]), 0.3);
}

}  // namespace
}  // namespace drl

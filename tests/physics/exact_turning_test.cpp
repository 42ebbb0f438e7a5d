// Tests a robot with the integrator implicit.
#include "exact.hpp"
#include "lanes.hpp"
#include "turning_robots.hpp"

namespace drl {
namespace {

template <>
struct Files<tumbler_robot> {
  static constexpr const char* file = "tests/physics/models/tumbler.xml";
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Exact);  // this test only uses its fixture

// In half of the states, everything turns fast. There, implicitfast would leave out much of the change of velocity.
using Tumbler = Exact<tumbler_robot>;
TEST_F(Tumbler, StepsMatchLibmujoco) {
  const auto model = load_model(std::string(DRL_TEST_DATA) + "/../" + Files<tumbler_robot>::file);
  model->opt.integrator = mjINT_IMPLICITFAST;
  const std::unique_ptr<mjData, test::DeleteData> fast(mj_makeData(model.get()));
  int differ = 0;
  for (int k = 0; k < 1000; ++k) {
    RobotState from = reference.next_state();
    if (k % 2 == 0)
      for (double& v : from.qvel) v = 15 * reference.draw();
    const mjData& expected = compared.expect_step(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
    std::ranges::copy(from.qpos, fast->qpos);
    std::ranges::copy(from.qvel, fast->qvel);
    std::ranges::copy(from.ctrl, fast->ctrl);
    mj_step(model.get(), fast.get());
    differ += test::difference(fast->qvel, expected.qvel, static_cast<int>(model->nv)) > 1e-3 ? 1 : 0;
  }
  EXPECT_GE(differ, 300);
  for (int k = 0; k < 10; ++k) compared.expect_run(reference.next_state(), 100);
}
TEST(Lanes, OfTumblerAreIndependentAndAccurate) { expect_lanes<tumbler_robot>(Files<tumbler_robot>::file); }

}  // namespace
}  // namespace drl

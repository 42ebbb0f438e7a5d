// Tests robots with numbers of the model that differ between environments: masses, centres of mass, damping, armature,
// dry friction, springs, gains, limits of motors, friction and gravity.
#include "exact.hpp"
#include "physics/crawler.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/manipulator.hpp"
#include "physics/slider.hpp"

namespace drl {
namespace {

template <>
struct Files<slider_randomised_robot> {
  static constexpr const char* file = "tests/physics/models/slider.xml";
};
template <>
struct Files<crawler_randomised_robot> {
  static constexpr const char* file = "tests/physics/models/crawler.xml";
};
template <>
struct Files<manipulator_randomised_robot> {
  static constexpr const char* file = "tests/physics/models/manipulator.xml";
};
template <>
struct Files<half_cheetah_randomised_robot> {
  static constexpr const char* file = "src/robots/models/half_cheetah.xml";
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Exact);

template <class Robot>
class Randomised : public Exact<Robot> {};
using Robots = testing::Types<slider_randomised_robot, crawler_randomised_robot, manipulator_randomised_robot,
                              half_cheetah_randomised_robot>;
TYPED_TEST_SUITE(Randomised, Robots);

// Each state has numbers of its own. Some states are in random motion; in the others, limits and contacts are deep.
TYPED_TEST(Randomised, StepsMatchLibmujocoWithTheChangedModel) {
  for (int k = 0; k < 1000; ++k) {
    const RobotState from = this->reference.next_state();
    this->compared.vary();
    this->compared.expect_step(from);
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
}
TYPED_TEST(Randomised, ExtremeStatesMatchLibmujocoWithTheChangedModel) {
  for (int k = 0; k < 300; ++k) {
    this->compared.vary();
    this->expect_evaluation(this->reference.extreme_state());
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
}

// Without changes, the numbers are those of the file.
TYPED_TEST(Randomised, NumbersThatNobodyChangesAreThoseOfTheFile) {
  for (int k = 0; k < 100; ++k) {
    this->compared.expect_step(this->reference.next_state());
    ASSERT_FALSE(this->HasFailure()) << "state " << k;
  }
}

// mj_setConst computes the same constants of the changed model as finish_changes().
TYPED_TEST(Randomised, ConstantsOfTheChangedModelAreThoseOfMujoco) {
  this->compared.vary();
  const mjModel& changed = this->reference.model();
  const std::unique_ptr<mjModel, DeleteModel> expected(mj_copyModel(nullptr, &changed));
  const std::unique_ptr<mjData, test::DeleteData> data(mj_makeData(expected.get()));
  mj_setConst(expected.get(), data.get());
  EXPECT_LE(test::difference(changed.body_subtreemass, expected->body_subtreemass, static_cast<int>(changed.nbody)),
            1e-14);
  for (int d = 0; d < changed.nv; ++d)
    if (changed.dof_simplenum[d] > 0) {
      EXPECT_NEAR(changed.dof_M0[d], expected->dof_M0[d], 1e-14) << d;
    }
}

}  // namespace
}  // namespace drl

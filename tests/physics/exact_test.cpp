// Compares robots' physics in double with libmujoco.
#include <fstream>
#include <sstream>

#include "tested_robots.hpp"

namespace drl {
namespace {

using namespace test;

class Exact : public testing::TestWithParam<TestedRobot> {
 protected:
  Compared compared = GetParam().compared();
  test::Reference& reference = compared.reference;
  const test::RobotFacts& facts = compared.robot->facts;
};
INSTANTIATE_TEST_SUITE_P(Robots, Exact, testing::ValuesIn([] {
                           std::vector<TestedRobot> robots;
                           for (const TestedRobot& robot : test::tested_robots())
                             if (robot.exact) robots.push_back(robot);
                           return robots;
                         }()),
                         test::name_of);

TEST_P(Exact, StepsMatchLibmujoco) {
  const int least_touching_itself = facts.pairs > 0 ? 40 : 0;  // rare in random motion
  int touching = 0, touching_itself = 0;
  for (int k = 0; k < 3000 || (touching_itself < least_touching_itself && k < 60000); ++k) {
    if (k % 50 == 49) compared.vary();
    const mjData& expected = compared.expect_step(reference.next_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
    touching += expected.ncon > 0 ? 1 : 0;
    touching_itself += reference.pair_contacts(expected) > 0 ? 1 : 0;
  }
  EXPECT_GE(touching, facts.contacts + facts.cones > 0 ? 500 : 0);
  EXPECT_GE(touching_itself, least_touching_itself);
}

TEST_P(Exact, LongRunsStayCloseToLibmujoco) {
  for (int k = 0; k < 20; ++k) {
    for (int t = 0; t < 35; ++t) reference.next_state();
    compared.expect_run(reference.next_state(), 200);
    ASSERT_FALSE(HasFailure()) << "run " << k;
  }
}

TEST_P(Exact, ExtremeStatesMatchLibmujoco) {
  for (int k = 0; k < 300; ++k) {
    compared.expect_evaluation_or_no_place(reference.extreme_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
}

// Compares states in which geoms penetrate each other; a humanoid has up to twenty such pairs. States in which the axes
// of two capsules meet (they do in a plane) are skipped, because there the direction of libmujoco's normal is only
// rounding error.
TEST_P(Exact, SelfPenetrationMatchesLibmujoco) {
  int touching_itself = 0;
  for (int k = 0; k < 500; ++k) {
    const RobotState from = reference.folded_state();
    const mjData& expected = reference.after_forward(from);
    if (reference.axes_meet(expected)) continue;
    touching_itself += reference.pair_contacts(expected) > 0 ? 1 : 0;
    compared.expect_evaluation_or_no_place(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
  EXPECT_GE(touching_itself, facts.pairs > 0 ? 40 : 0);
}

// Robots with numbers of the model that differ between environments: masses, centres of mass, damping, armature, dry
// friction, springs, gains, limits of motors, friction and gravity.
class Randomised : public Exact {};
INSTANTIATE_TEST_SUITE_P(Robots, Randomised, testing::ValuesIn(test::randomised_robots()), test::name_of);

// Each state has numbers of its own. Some states are in random motion; in the others, limits and contacts are deep.
TEST_P(Randomised, StepsMatchLibmujocoWithTheChangedModel) {
  for (int k = 0; k < 1000; ++k) {
    const RobotState from = reference.next_state();
    compared.vary();
    compared.expect_step(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
}
TEST_P(Randomised, ExtremeStatesMatchLibmujocoWithTheChangedModel) {
  for (int k = 0; k < 300; ++k) {
    compared.vary();
    compared.expect_evaluation_or_no_place(reference.extreme_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
}

// Without changes, the numbers are those of the file.
TEST_P(Randomised, NumbersThatNobodyChangesAreThoseOfTheFile) {
  for (int k = 0; k < 100; ++k) {
    compared.expect_step(reference.next_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
}

// Robots whose motions, forces and mass matrix are computed in loops over tables. The loops compute all kinds of
// joints, frames that do not move, several trees, and sensors of loads, energies, limits and distances.
class Trees : public Exact {};
INSTANTIATE_TEST_SUITE_P(Robots, Trees,
                         testing::Values(test::tested("snake"), test::tested("snake_alone"),
                                         test::tested("snake_noslip"), test::tested("serpents")),
                         test::name_of);
TEST_P(Trees, MatchLibmujoco) {
  const bool is_snake = GetParam().name != "serpents";
  if (is_snake) {
    ASSERT_EQ(facts.tree_entries, 300);  // of a chain of 24 degrees of freedom
  }
  int touching = 0, touching_itself = 0;
  for (int k = 0; k < 600; ++k) {
    const mjData& expected = compared.expect_step(reference.next_state());
    ASSERT_FALSE(HasFailure()) << "state " << k;
    touching += expected.ncon > 0 ? 1 : 0;
  }
  for (int k = 0; k < 300; ++k) {
    const RobotState from = !is_snake || k % 2 == 0 ? reference.extreme_state() : reference.folded_state();
    const mjData& expected = reference.after_forward(from);
    touching_itself += reference.pair_contacts(expected) > 0 ? 1 : 0;
    compared.expect_evaluation_or_no_place(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
  EXPECT_GE(touching, 200);
  EXPECT_GE(touching_itself, is_snake && facts.pair_contacts > 0 && facts.has_cones ? 10 : 0);
  for (int k = 0; k < 5; ++k) compared.expect_run(reference.next_state(), 100);
}

// Compares time steps with the controls of a trained policy, from states that the policy visited (policy_record.py).
void expect_recording(const std::string& robot, const std::string& task, int frame_skip) {
  Compared compared = test::tested(robot).compared();
  const mjModel& m = compared.reference.model();
  std::ifstream file(std::string(DRL_TEST_DATA) + "/physics/recordings/" + task + ".txt");
  const auto zeros = [](auto n) { return std::vector<double>(static_cast<size_t>(n)); };
  RobotState at{zeros(m.nq), zeros(m.nv), zeros(m.nv), zeros(m.nu)};
  int steps = 0;
  for (std::string line; std::getline(file, line) && !testing::Test::HasFailure();) {
    std::istringstream numbers(line);
    std::string word;
    numbers >> word;
    const auto read = [&](std::vector<double>& to) {
      for (double& x : to) numbers >> x;
    };
    if (word == "state") read(at.qpos), read(at.qvel);
    if (word != "ctrl") continue;
    read(at.ctrl);
    for (int k = 0; k < frame_skip; ++k, ++steps) at = compared.reference.state_of(compared.expect_step(at));
    ASSERT_TRUE(numbers) << line;
  }
  EXPECT_EQ(steps, 200 * frame_skip);
}
TEST(TrainedPolicies, StepsMatchLibmujoco) {
  expect_recording("half_cheetah", "HalfCheetah-v5", 5);
  expect_recording("walker2d", "Walker2d-v5", 4);
  expect_recording("ant", "Ant-v5", 5);
}

}  // namespace
}  // namespace drl

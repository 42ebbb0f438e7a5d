// An evaluated program computes the same as a compiled robot.
#include "drl/physics/loop.hpp"
#include "evaluated_robot.hpp"
#include "exact_robot_of.hpp"
#include "tested_robots.hpp"

namespace drl {
namespace {

using namespace test::kinds;
using namespace test;

// Expects that an evaluated robot without dry friction is bit-identical to the compiled one.
template <RobotKind kKind>
void expect_equals_compiled(const std::string& name) {
  using P = EvaluatedRobot<test::kinds::without_dry_friction(kKind)>;
  const test::TestedRobot& robot = test::tested(name);
  const test::TracedRobot traced(std::string(DRL_TEST_DATA) + "/../" + robot.file);
  P::take(traced);
  Compared evaluated(robot.file, std::make_unique<test::ExactRobotOf<P>>()), compiled = robot.compared();
  for (int k = 0; k < 300; ++k) {
    const RobotState from = compiled.reference.next_state();
    evaluated.set(from), compiled.set(from);
    evaluated.robot->step(), compiled.robot->step();
    const std::vector<double> forces = evaluated.robot->derive().cfrc_ext, expected = compiled.robot->derive().cfrc_ext;
    const auto same = [](const auto& whole, const auto& of) { return std::equal(of.begin(), of.end(), whole.begin()); };
    ASSERT_TRUE(same(evaluated.robot->qpos, compiled.robot->qpos)) << name << " " << k;
    ASSERT_TRUE(same(evaluated.robot->qvel, compiled.robot->qvel)) << name << " " << k;
    ASSERT_TRUE(same(evaluated.robot->qacc, compiled.robot->qacc)) << name << " " << k;
    ASSERT_TRUE(same(forces, expected)) << name << " " << k;
  }
}

TEST(EvaluatedRobot, MatchesCompiledRobots) {
  expect_equals_compiled<kEulerPlane>("half_cheetah");
  expect_equals_compiled<kRungeKutta>("ant");
  expect_equals_compiled<kRungeKutta>("swimmer");
  expect_equals_compiled<kRungeKuttaPairs>("humanoid");
}

}  // namespace
}  // namespace drl

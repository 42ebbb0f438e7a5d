// An evaluated program computes the same as a compiled robot.
#include "drl/physics/loop.hpp"
#include "physics/crawler.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/humanoid.hpp"
#include "physics/manipulator.hpp"
#include "physics/pile.hpp"
#include "physics/slider.hpp"
#include "physics/swimmer.hpp"
// These must come after the robots' headers.
#include "evaluated_robot.hpp"
#include "exact_robot_of.hpp"
#include "tested_robots.hpp"

#include "../../bench/physics_cost.hpp"

namespace drl {
namespace {

using namespace test::kinds;
using test::Compared;
using test::EvaluatedRobot;
using test::RobotKind;
using test::RobotState;

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

// The estimate of bytes matches the types, except for the lists of current contacts and the pointer to an environment's
// parameters.
template <class Robot>
void expect_bytes(const std::string& file, int places = 0) {
  using P = typename Robot::template Physics<float>;
  const auto model = robot_compiler::read_robot_model(std::string(DRL_TEST_DATA) + "/../" + file, places);
  robot_compiler::Program program;
  robot_compiler::trace(model, program);
  const robot_compiler::Cost cost = robot_compiler::cost_of(model, program);
  EXPECT_EQ(cost.state_bytes, static_cast<int>(sizeof(typename P::State))) << file;
  const int changes = P::kContacts > 0 && P::kEdges != 3 ? P::kContacts + 1 : 0;
  size_t list = sizeof(uint16_t) * static_cast<size_t>(P::kContacts + P::kCones + 1 + changes) + 9 * sizeof(int);
  list += sizeof(uint32_t) * static_cast<size_t>(P::kGround);
  if (P::kPairs > 0) list += sizeof(uint32_t) * static_cast<size_t>(P::kPairs + 1);
  if (P::kParameters > 0) list += sizeof(float*);
  const auto padding = P::kParameters > 0 ? alignof(float*) : 0;
  EXPECT_LE(cost.work_bytes, static_cast<int>(sizeof(typename P::Work) - list)) << file;
  constexpr size_t kEmpty = 16;  // empty arrays of one type do not share an address
  EXPECT_GE(cost.work_bytes, static_cast<int>(sizeof(typename P::Work) - list - 2 * padding - kEmpty)) << file;
}
TEST(Cost, BytesMatchTheTypes) {
  expect_bytes<half_cheetah_robot>("src/robots/models/half_cheetah.xml");
  expect_bytes<swimmer_robot>("src/robots/models/swimmer.xml");
  expect_bytes<humanoid_robot>("src/robots/models/humanoid.xml");
  expect_bytes<pile_robot>("tests/physics/models/pile.xml", 16);
  expect_bytes<crawler_robot>("tests/physics/models/crawler.xml");
  expect_bytes<manipulator_robot>("tests/physics/models/manipulator.xml");
  expect_bytes<slider_robot>("tests/physics/models/slider.xml");
}

TEST(EvaluatedRobot, MatchesCompiledRobots) {
  expect_equals_compiled<kEulerPlane>("half_cheetah");
  expect_equals_compiled<kRungeKutta>("ant");
  expect_equals_compiled<kRungeKutta>("swimmer");
  expect_equals_compiled<kRungeKuttaPairs>("humanoid");
}

}  // namespace
}  // namespace drl

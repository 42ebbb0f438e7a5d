// The interpreter computes the same as a compiled header.
#include "compared.hpp"
#include "cone_robots.hpp"
#include "friction_robots.hpp"
#include "interpreted_robot.hpp"
#include "robots.hpp"

#include "../../bench/physics_cost.hpp"

namespace drl {
namespace {

using namespace test::kinds;
using test::Compared;
using test::InterpretedHeader;
using test::InterpretedRobot;
using test::RobotKind;
using test::RobotState;

// Expects that an interpreted robot without dry friction is bit-identical to the compiled one.
template <RobotKind kKind, class Robot>
void expect_equals_compiled(const std::string& file) {
  using P = InterpretedRobot<test::kinds::without_dry_friction(kKind)>;
  using C = typename Robot::template Physics<double>;
  InterpretedHeader header(test::header_of(std::string(DRL_TEST_DATA) + "/../" + file));
  P::take(header);
  Compared<P> interpreted(file);
  Compared<C> compiled(file);
  for (int k = 0; k < 300; ++k) {
    const RobotState from = compiled.reference.next_state();
    interpreted.set(from), compiled.set(from);
    interpreted.forces = physics::step<P>(interpreted.state, interpreted.ctrl, interpreted.stage);
    compiled.forces = physics::step<C>(compiled.state, compiled.ctrl, compiled.stage);
    for (int i = 0; i < C::nq; ++i) ASSERT_EQ(interpreted.state.qpos[i], compiled.state.qpos[i]) << file << " " << k;
    for (int i = 0; i < C::nv; ++i) {
      ASSERT_EQ(interpreted.state.qvel[i], compiled.state.qvel[i]) << file << " " << k;
      ASSERT_EQ(interpreted.stage.qacc[i], compiled.stage.qacc[i]) << file << " " << k;
    }
    typename P::Derived derived;
    typename C::Derived expected;
    physics::derive_all<P>(interpreted.stage, interpreted.forces, derived);
    physics::derive_all<C>(compiled.stage, compiled.forces, expected);
    for (int b = 0; b + 1 < C::nbody; ++b)
      for (int i = 0; i < 6; ++i) ASSERT_EQ(derived.cfrc_ext[b][i], expected.cfrc_ext[b][i]) << file << " " << k;
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

TEST(Interpreter, MatchesCompiledRobots) {
  const std::string models = "src/robots/models/";
  expect_equals_compiled<kEulerPlane, half_cheetah_robot>(models + "half_cheetah.xml");
  expect_equals_compiled<kRungeKutta, ant_robot>(models + "ant.xml");
  expect_equals_compiled<kRungeKutta, swimmer_robot>(models + "swimmer.xml");
  expect_equals_compiled<kRungeKuttaPairs, humanoid_robot>(models + "humanoid.xml");
}

}  // namespace
}  // namespace drl

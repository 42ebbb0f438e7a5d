// Tests robots whose contacts are too stiff for float: lanes of float compute their steps in double.
#include "lanes.hpp"
#include "stiff_robots.hpp"
// Must come after the robots' headers.
#include "drl/physics/task.hpp"

namespace drl {
namespace {

constexpr const char *kFoot = "tests/physics/models/stiff_foot.xml", *kSkater = "tests/physics/models/stiff_skater.xml";
// In float, the errors of 99 % of the states would be up to 0.5.
constexpr double kRounding = 1e-6;
TEST(Lanes, OfStiffFootAreIndependentAndAccurate) { expect_lanes<stiff_foot_robot>(kFoot, kRounding); }
TEST(Lanes, OfStiffSkaterAreIndependentAndAccurate) { expect_lanes<stiff_skater_robot>(kSkater, kRounding); }

// Compares the contact forces and sensors of a step in lanes.
TEST(StiffSkater, LanesHaveTheForcesAndSensorsOfLibmujoco) {
  using Loop = StepRobots<stiff_skater_robot>;
  constexpr int kSensors = stiff_skater_robot::Physics<float>::kSensorNumbers;
  test::Reference reference(kSkater);
  std::vector<float> state(Loop::kNumbers * kStates), ctrl(Loop::nu * kStates), unsolved(kStates),
      qacc(Loop::nv * kStates), forces(6 * Loop::nbody * kStates), sensors(kSensors * kStates);
  std::vector<RobotState> states;
  for (int64_t e = 0; e < kStates; ++e) {
    RobotState s = reference.next_state();
    const auto put = [&](std::vector<double>& from, std::vector<float>& to, int64_t first) {
      for (double& x : from) {
        float& rounded = to[static_cast<size_t>(first++ * kStates + e)];
        x = static_cast<double>(rounded = static_cast<float>(x));
      }
    };
    put(s.qpos, state, 0), put(s.qvel, state, Loop::nq), put(s.warm_start, state, Loop::nq + Loop::nv);
    put(s.ctrl, ctrl, 0);
    states.push_back(s);
  }
  test::Loops()(kStates, Loop{kStates, 1, state.data(), ctrl.data(), qacc.data(), forces.data(), unsolved.data(),
                              sensors.data()});
  int touching = 0;
  for (int64_t e = 0; e < kStates; ++e) {
    const mjData& d = reference.after_step(states[static_cast<size_t>(e)]);
    const auto of_lane = [&](const std::vector<float>& all, int64_t first, int64_t count) {
      std::vector<double> numbers;
      for (int64_t k = first; k < first + count; ++k)
        numbers.push_back(static_cast<double>(all[static_cast<size_t>(k * kStates + e)]));
      return numbers;
    };
    touching += d.ncon > 0 ? 1 : 0;
    ASSERT_LE(test::difference(of_lane(forces, 6, 6 * (Loop::nbody - 1)).data(), d.cfrc_ext + 6, 6 * (Loop::nbody - 1)),
              1e-5)
        << "state " << e;
    ASSERT_LE(test::difference(of_lane(sensors, 0, kSensors).data(), d.sensordata, kSensors), 1e-5) << "state " << e;
    ASSERT_EQ(unsolved[static_cast<size_t>(e)], 0) << "state " << e;
  }
  EXPECT_GE(touching, 500);
}

// Steps and evaluates states as tasks in float do, with friction that varies.
TEST(StiffSkater, AccelerationsOfTasksMatchLibmujoco) {
  using Robot = PhysicsRobot<float, CompiledRobot<model_key("stiff_skater.xml")>, 1>;
  using P = stiff_skater_robot::Physics<float>;
  static_assert(physics::is_wide<P>());
  test::Reference reference(kSkater);
  const int skate = mj_name2id(&reference.model(), mjOBJ_GEOM, "left_skate");
  int touching = 0;
  for (int k = 0; k < 300; ++k) {
    RobotState at = reference.next_state();
    P::State state{};
    const auto put = [](std::vector<double>& from, float* to) {
      for (double& x : from) x = static_cast<double>(*to++ = static_cast<float>(x));
    };
    put(at.qpos, state.qpos), put(at.qvel, state.qvel), put(at.warm_start, state.warm_start);
    float controls[P::nu];
    put(at.ctrl, controls);
    const Vec<float, 3> friction{{0.5f + 0.25f * static_cast<float>(k % 4), 0.01f, 0.001f}};
    const double frictions[] = {static_cast<double>(friction[0]), static_cast<double>(friction[1]),
                                static_cast<double>(friction[2])};
    reference.set_friction(skate, frictions);
    const auto expect_qacc = [&](const Robot& robot, const mjData& d) {
      std::vector<double> qacc;
      for (int i = 0; i < P::nv; ++i) qacc.push_back(static_cast<double>(robot.qacc(i)));
      EXPECT_LE(test::difference(qacc.data(), d.qacc, P::nv), kRounding) << "state " << k;
    };
    P::State stepped = state;
    Robot robot;
    robot.take(stepped), robot.set_friction(GeomId{skate}, friction), robot.advance(controls);
    expect_qacc(robot, reference.after_step(at));
    robot.take(state), robot.set_friction(GeomId{skate}, friction), robot.forward();
    const mjData& d = reference.after_forward(at);
    expect_qacc(robot, d);
    touching += d.ncon > 0 ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GE(touching, 100);
}

}  // namespace
}  // namespace drl

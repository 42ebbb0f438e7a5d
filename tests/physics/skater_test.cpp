// Tests that tasks read and step a compiled robot as libmujoco does.
#include "physics/skater.hpp"

#include "drl/physics/loop.hpp"
#include "physics/stiff_skater.hpp"
// These must come after the robots' headers.
#include "drl/physics/task.hpp"
#include "exact_robot_of.hpp"
#include "tested_robots.hpp"

namespace drl {

namespace test {
DRL_EXACT_ROBOT(skater, skater_robot)  // here, so that its physics in double are compiled once
}  // namespace test

namespace {

using test::RobotState;
using P = skater_robot::Physics<double>;

P::State state_of(const RobotState& from) {
  P::State state{};
  std::ranges::copy(from.qpos, state.qpos);
  std::ranges::copy(from.qvel, state.qvel);
  std::ranges::copy(from.warm_start, state.warm_start);
  return state;
}

// Reads sensors as tasks do: after several time steps at once, and in a state that was only evaluated.
TEST(Skater, SensorsOfTasksMatchLibmujoco) {
  test::Reference reference(test::tested("skater").file);
  constexpr int kFrameSkip = 3;
  using Robot = PhysicsRobot<double, CompiledRobot<model_key("skater.xml")>, kFrameSkip>;
  const auto expect_sensors = [&](const Robot& robot, const mjData& d) {
    for (int k = 0; k < P::kSensorNumbers; ++k) {
      const double sensed = robot.sensor(SensorId{k});
      EXPECT_LE(test::difference(&sensed, d.sensordata + k, 1), 1e-9) << "sensor " << k;
    }
  };
  for (int t = 0; t < 100; ++t) {
    RobotState at = reference.next_state();
    P::State state = state_of(at);
    Robot robot;
    robot.take(state);
    robot.advance(at.ctrl.data());
    for (int k = 1; k < kFrameSkip; ++k) at = reference.state_of(reference.after_step(at));
    const mjData& last = reference.after_step(at);
    expect_sensors(robot, last);
    at = reference.state_of(last);
    robot.forward();
    expect_sensors(robot, reference.after_forward(at));
    ASSERT_FALSE(HasFailure()) << "state " << t;
  }
}

// All time steps of a task's step share one Work, so that each solution begins with the active rows of the last one. If
// a callback reads quantities between time steps, the Work is overwritten and the next solution starts anew.
TEST(Skater, ReusesTheSolutionOfTheLastTimeStep) {
  test::Reference reference(test::tested("skater").file);
  constexpr int kFrameSkip = 5;
  using Robot = PhysicsRobot<double, CompiledRobot<model_key("skater.xml")>, kFrameSkip>;
  const auto numbers = [](const P::State& state) {
    std::vector<double> all(state.qpos, state.qpos + P::nq);
    all.insert(all.end(), state.qvel, state.qvel + P::nv);
    return all;
  };
  int differ = 0;
  P::Stage stage{};
  physics::begin_parameters<P>(stage);
  for (int t = 0; t < 100; ++t) {
    const RobotState at = reference.next_state();
    P::State of_task = state_of(at), watched = of_task, with_one_work = of_task, anew = of_task;
    Robot robot;
    robot.take(of_task), robot.advance(at.ctrl.data());
    Robot other;
    other.take(watched), other.advance(at.ctrl.data(), [&] { other.position(BodyId{1}); });
    P::Work work;
    for (int k = 0; k < kFrameSkip; ++k) {
      physics::step<P>(with_one_work, at.ctrl.data(), stage, work, false);
      physics::step<P>(anew, at.ctrl.data(), stage);
    }
    ASSERT_EQ(numbers(of_task), numbers(with_one_work)) << "state " << t;
    ASSERT_EQ(numbers(watched), numbers(anew)) << "state " << t;
    differ += numbers(with_one_work) != numbers(anew) ? 1 : 0;
  }
  EXPECT_GT(differ, 20);
}

// Lanes of float compute steps in double if contacts are too stiff for float. Steps and evaluates states as tasks do,
// with friction that varies.
TEST(StiffSkater, AccelerationsOfTasksMatchLibmujoco) {
  using Robot = PhysicsRobot<float, CompiledRobot<model_key("stiff_skater.xml")>, 1>;
  using Stiff = stiff_skater_robot::Physics<float>;
  static_assert(Stiff::kWide);
  test::Reference reference(test::tested("stiff_skater").file);
  const int skate = mj_name2id(&reference.model(), mjOBJ_GEOM, "left_skate");
  int touching = 0;
  for (int k = 0; k < 300; ++k) {
    RobotState at = reference.next_state();
    Stiff::State state{};
    const auto put = [](std::vector<double>& from, float* to) {
      for (double& x : from) x = static_cast<double>(*to++ = static_cast<float>(x));
    };
    put(at.qpos, state.qpos), put(at.qvel, state.qvel), put(at.warm_start, state.warm_start);
    float controls[Stiff::nu];
    put(at.ctrl, controls);
    const Vec<float, 3> friction{{0.5f + 0.25f * static_cast<float>(k % 4), 0.01f, 0.001f}};
    const double frictions[] = {static_cast<double>(friction[0]), static_cast<double>(friction[1]),
                                static_cast<double>(friction[2])};
    reference.set_friction(skate, frictions);
    const auto expect_qacc = [&](const Robot& robot, const mjData& d) {
      std::vector<double> qacc;
      for (int i = 0; i < Stiff::nv; ++i) qacc.push_back(static_cast<double>(robot.qacc(i)));
      EXPECT_LE(test::difference(qacc.data(), d.qacc, Stiff::nv), 1e-6) << "state " << k;
    };
    Stiff::State stepped = state;
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

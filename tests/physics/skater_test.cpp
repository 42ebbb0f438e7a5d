// Tests that tasks read and step a compiled robot as libmujoco does.
#include "physics/skater.hpp"

#include "drl/physics/loop.hpp"
// These must come after the robot's header.
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

}  // namespace
}  // namespace drl

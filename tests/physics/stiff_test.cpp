// Tests robots whose contacts are too stiff for float: lanes of float compute their steps in double.
#include "drl/physics/loop.hpp"
#include "physics/stiff_skater.hpp"
// Must come after the robots' headers.
#include "drl/physics/task.hpp"
#include "tested_robots.hpp"

namespace drl {
namespace {

using test::RobotState;

// Steps and evaluates states as tasks in float do, with friction that varies.
TEST(StiffSkater, AccelerationsOfTasksMatchLibmujoco) {
  using Robot = PhysicsRobot<float, CompiledRobot<model_key("stiff_skater.xml")>, 1>;
  using P = stiff_skater_robot::Physics<float>;
  static_assert(physics::is_wide<P>());
  test::Reference reference(test::tested("stiff_skater").file);
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
      EXPECT_LE(test::difference(qacc.data(), d.qacc, P::nv), 1e-6) << "state " << k;
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

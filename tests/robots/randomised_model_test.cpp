// Tests what options change in a robot's model (--env.dr), by hand calculation.
#include <gtest/gtest.h>

#include <fstream>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "drl/physics/mujoco.hpp"

namespace drl {
namespace {

// A cart of 2 kg with a position controller, an arm of 3 kg with a motor, and a ball that may roll on a floor.
constexpr const char* kModel = R"(<mujoco>
  <option timestep="0.01" gravity="0 0 -10"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="cart" pos="0 0 1">
      <joint name="rail" type="slide" axis="1 0 0" damping="0.5" armature="0.2" frictionloss="0.1"/>
      <inertial pos="0.1 0 0" mass="2" diaginertia="1 1.5 2"/>
      <body name="arm">
        <joint name="pivot" axis="0 1 0" stiffness="3" range="-60 120"/>
        <inertial pos="0 0 -0.5" mass="3" diaginertia="0.3 0.3 0.1"/>
        <site name="imu" pos="0.1 0 0"/>
        <site name="mark"/>
      </body>
    </body>
    <body name="ball" pos="0 2 1">
      <freejoint/>
      <geom name="ball" size="0.1" mass="1" friction="0.8 0.02 0.001"/>
    </body>
  </worldbody>
  <sensor>
    <gyro name="gyro" site="imu"/>
  </sensor>
  <actuator>
    <position name="servo" joint="rail" kp="40" kv="6" forcerange="-30 20"/>
    <motor name="motor" joint="pivot" gear="2" forcerange="-18 18"/>
  </actuator>
</mujoco>)";

// A robot with these numbers of parameters of its model.
struct Changed : MujocoRobot {
  Changed(const mjModel& file, int frame_skip, std::vector<ModelParameter> of, std::vector<double> to)
      : MujocoRobot(file, frame_skip), parameters(std::move(of)), numbers(std::move(to)) {
    for (size_t p = 0; p < parameters.size(); ++p) all.push_back(p);
    derived.resize(count_derived(file));
    derive(parameters, all, numbers.data(), derived.data());
    begin_step();
  }
  void begin_step() { randomise(parameters, all, numbers.data(), derived.data(), last_controls); }

  std::vector<ModelParameter> parameters;
  std::vector<double> numbers, derived;
  std::vector<size_t> all;
  double last_controls[2] = {};
};

constexpr double kStill[2] = {};

class RandomisedModel : public testing::Test {
 protected:
  RandomisedModel() {
    std::ofstream(folder_ / "model.xml") << kModel;
    file = load_model((folder_ / "model.xml").string());
    changed.reset(mj_copyModel(nullptr, file.get()));
  }
  int body(const char* name) const { return mj_name2id(file.get(), mjOBJ_BODY, name); }
  std::string error_of(const std::string& ranges) const {
    return error_from<std::invalid_argument>([&] { ModelRanges(*file, 4, ranges); });
  }
  // Returns the bounds of number `k` of a parameter.
  std::pair<float, float> bounds(const ModelRanges& ranges, ModelParameter::Kind kind, int index, int k) const {
    for (size_t p = 0; p < ranges.parameters().size(); ++p)
      if (ranges.parameters()[p].kind == kind && ranges.parameters()[p].index == index) {
        const size_t at = 6 * p + 2 * static_cast<size_t>(k);
        return {ranges.bounds()[at], ranges.bounds()[at + 1]};
      }
    return {-1, -1};
  }
  void change(ModelParameter::Kind kind, int index, std::array<double, 3> x) {
    change_model(*file, {kind, index}, x.data(), *changed);
    finish_changes(*changed);
  }

  TempFolder folder_;
  std::unique_ptr<mjModel, DeleteModel> file, changed;
};

TEST_F(RandomisedModel, MassesCarryTheirInertiaAlong) {
  change(ModelParameter::mass, body("cart"), {1.5, 1, 0});  // 1.5 * 2 kg + 1 kg
  EXPECT_EQ(changed->body_mass[body("cart")], 4);
  const double* inertia = changed->body_inertia + 3 * body("cart");
  EXPECT_EQ(std::vector<double>(inertia, inertia + 3), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(changed->body_subtreemass[body("cart")], 7);
  EXPECT_EQ(changed->body_subtreemass[0], 8);
}
// The factor 2.5 less 1 is given, in addition to 1.5 of the mass: the file's inertia is (1, 1.5, 2).
TEST_F(RandomisedModel, InertiasChangeApartFromMasses) {
  change(ModelParameter::mass, body("cart"), {1.5, 0, 1.5});
  EXPECT_EQ(changed->body_mass[body("cart")], 3);
  const double* inertia = changed->body_inertia + 3 * body("cart");
  EXPECT_EQ(std::vector<double>(inertia, inertia + 3), (std::vector<double>{3.75, 5.625, 7.5}));
}
TEST_F(RandomisedModel, JointsActuatorsGeomsAndGravityChange) {
  change(ModelParameter::joint, 0, {2, 3, 4});
  EXPECT_EQ(changed->dof_damping[0], 1);
  EXPECT_DOUBLE_EQ(changed->dof_armature[0], 0.6);
  EXPECT_DOUBLE_EQ(changed->dof_frictionloss[0], 0.4);
  change(ModelParameter::spring, 1, {2, 1, 1});
  EXPECT_EQ(changed->jnt_stiffness[1], 6);
  change(ModelParameter::actuator, 0, {0.5, 2, 0.1});
  EXPECT_EQ(changed->actuator_gainprm[0], 20);
  EXPECT_EQ(changed->actuator_biasprm[1], -20);
  EXPECT_EQ(changed->actuator_biasprm[2], -12);
  EXPECT_DOUBLE_EQ(changed->actuator_forcerange[0], -3);
  EXPECT_EQ(changed->actuator_forcerange[1], 2);
  change(ModelParameter::gravity, 0, {1, 0, -0.5});
  EXPECT_EQ(changed->opt.gravity[0], 1);
  EXPECT_EQ(changed->opt.gravity[2], -10.5);
  change(ModelParameter::center_of_mass, body("cart"), {0.1, 0, 0.2});
  EXPECT_DOUBLE_EQ(changed->body_ipos[3 * body("cart")], 0.2);
  EXPECT_EQ(changed->body_ipos[3 * body("cart") + 2], 0.2);
  const int ball = mj_name2id(file.get(), mjOBJ_GEOM, "ball");
  change(ModelParameter::friction, ball, {0.5, 1, 1});
  EXPECT_DOUBLE_EQ(changed->geom_friction[3 * ball], 0.4);
  EXPECT_DOUBLE_EQ(changed->geom_friction[3 * ball + 1], 0.01);
}

// From -60 to 120 degrees, the middle is 30 degrees, and half of the width is 90 degrees.
TEST_F(RandomisedModel, RangesAndSitesChange) {
  constexpr double kDegree = 3.14159265358979323846 / 180;
  change(ModelParameter::range, 1, {0.5, 10 * kDegree, 0});
  EXPECT_NEAR(changed->jnt_range[2], (30 + 10 - 45) * kDegree, 1e-15);
  EXPECT_NEAR(changed->jnt_range[3], (30 + 10 + 45) * kDegree, 1e-15);
  change(ModelParameter::site_position, 0, {0.01, 0.02, -0.03});
  EXPECT_DOUBLE_EQ(changed->site_pos[0], 0.11);
  EXPECT_DOUBLE_EQ(changed->site_pos[1], 0.02);
  EXPECT_DOUBLE_EQ(changed->site_pos[2], -0.03);
  // A quarter of a turn about x, and then one about the new y axis, which is the old z axis: x becomes -z, then y.
  change(ModelParameter::site_turn, 0, {90 * kDegree, 90 * kDegree, 0});
  double axis[3];
  const double x[] = {1, 0, 0};
  mju_rotVecQuat(axis, x, changed->site_quat);
  EXPECT_NEAR(axis[0], 0, 1e-15);
  EXPECT_NEAR(axis[1], 1, 1e-15);
  EXPECT_NEAR(axis[2], 0, 1e-15);
}

TEST_F(RandomisedModel, RadiiChange) {
  const int ball = mj_name2id(file.get(), mjOBJ_GEOM, "ball");
  change(ModelParameter::size, ball, {1.5, 1, 1});
  EXPECT_DOUBLE_EQ(changed->geom_size[3 * ball], 0.15);
  EXPECT_DOUBLE_EQ(changed->geom_rbound[ball], 0.15);
  // It lies on the floor with its centre at 0.15 m: not so the file's ball.
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(changed.get()), mj_deleteData);
  data->qpos[4] = 0.14;
  mj_forward(changed.get(), data.get());
  ASSERT_EQ(data->ncon, 1);
  EXPECT_NEAR(data->contact[0].dist, -0.01, 1e-12);
  change(ModelParameter::size, ball, {1.25, 1.2, 1});  // both factors
  EXPECT_DOUBLE_EQ(changed->geom_size[3 * ball], 0.15);
  expect_mentions(error_of("geom_size ball 0.9 1.2\ngeom_radius ball 1 1.3\n"),
                  {"--env.dr.geom_size", "--env.dr.geom_radius", "'ball'", "1.56", "1.5"});
  expect_mentions(error_of("geom_size * 1 1.6\n"), {"--env.dr.geom_size", "'ball'", "1.6"});
  expect_mentions(error_of("geom_size floor 0.9 1.1\n"), {"--env.dr.geom_size", "'floor'", "'ball'"});
  expect_mentions(error_of("geom_radius ball 0.9 1.6\n"), {"--env.dr.geom_radius", "1.6", "1.5"});
  expect_mentions(error_of("geom_radius floor 0.9 1.1\n"), {"--env.dr.geom_radius", "'floor'", "'ball'"});
}

// A box of 0.2 x 0.4 x 0.6 m becomes half as large again; a capsule of radius 0.1 and half length 0.2 m, too.
TEST_F(RandomisedModel, SizesChange) {
  std::ofstream(folder_ / "shapes.xml") << R"(<mujoco>
  <asset><mesh name="tetrahedron" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
  <worldbody>
    <body><freejoint/><geom name="box" type="box" size="0.1 0.2 0.3" mass="2"/></body>
    <body pos="2 0 0"><freejoint/><geom name="capsule" type="capsule" size="0.1 0.2"/></body>
    <body pos="4 0 0"><freejoint/><geom name="mesh" type="mesh" mesh="tetrahedron"/></body>
  </worldbody>
</mujoco>)";
  file = load_model((folder_ / "shapes.xml").string());
  changed.reset(mj_copyModel(nullptr, file.get()));
  change(ModelParameter::size, 0, {1, 1.5, 1});
  change(ModelParameter::size, 1, {1, 1.5, 1});
  const auto size = [&](int geom, int k) { return changed->geom_size[3 * geom + k]; };
  for (int k = 0; k < 3; ++k) EXPECT_DOUBLE_EQ(size(0, k), 0.15 * (k + 1)) << k;
  EXPECT_DOUBLE_EQ(changed->geom_rbound[0], 1.5 * std::sqrt(0.14));
  EXPECT_EQ(changed->body_mass[1], 2) << "the mass stays";
  EXPECT_DOUBLE_EQ(size(1, 0), 0.15);
  EXPECT_DOUBLE_EQ(size(1, 1), 0.3);
  EXPECT_DOUBLE_EQ(changed->geom_rbound[1], 0.45);
  expect_mentions(error_of("geom_size mesh 0.9 1.1\n"), {"--env.dr.geom_size", "'mesh'"});
}

// The servo exerts 40 (control - position) - 6 velocity. A network exerts its torque in place of this.
TEST_F(RandomisedModel, ANetworkTakesTheServosPlace) {
  const float weight[] = {3, 0.5F}, bias[] = {1};
  MotorNetwork network{};
  network.input_count = network.dense_count = 1;
  network.position_scale = 1, network.velocity_scale = 2, network.torque_scale = 10;
  network.dense[0] = {2, 1, weight, bias};
  const std::vector<double> own{1, 1, 1, 1, 0, 0}, driven{1, 1, 1, 0, 0, 0}, weak{1, 1, 0.5, 0, 0, 0};
  const auto force = [&](const std::vector<double>& numbers, double control) {
    Changed robot(*file, 1, {{ModelParameter::actuator, 0}, {ModelParameter::network, 0}}, numbers);
    robot.drive(&network, nullptr);  // it has no memory
    robot.set_qpos(0, 0.2), robot.set_qvel(0, 0.1);
    const double both[] = {control, 0};
    double at_start = 0;
    robot.advance(both, [&] { at_start = robot.force(ActuatorId{0}); });
    return at_start;
  };
  EXPECT_NEAR(force(own, 0.5), 40 * 0.3 - 6 * 0.1, 1e-12);
  EXPECT_NEAR(force(driven, 0.5), 10 * (3 * 0.3 + 0.5 * 2 * 0.1 + 1), 1e-12);
  EXPECT_NEAR(force(driven, 5), 20, 1e-12);  // the forcerange
  EXPECT_NEAR(force(weak, 5), 10, 1e-12);
}

// A motor with a stall torque of 20 N m, which turns at most at 40 rad/s, within a continuous torque of 18 N m.
TEST_F(RandomisedModel, AMotorsTorqueFallsWithItsSpeed) {
  const struct {
    double speed, control, force;
  } cases[] = {
      {0, 100, 18},     // the continuous torque
      {10, 100, 15},    // 20 (1 - 10/40)
      {10, 12, 12},     // within the limits
      {10, -100, -18},  // braking: 20 (-1 - 10/40) = -25, beyond the continuous torque
      {-10, -100, -15}, {-10, 100, 18}, {40, 100, 0}, {50, 100, -5}, {50, 0, -5},  // faster than it turns by itself
      {200, 0, -18},
  };
  for (const auto& [speed, control, force] : cases) {
    Changed robot(*file, 1, {{ModelParameter::motor, 1}}, {20, 40, 0});
    robot.set_qvel(1, speed / 2);  // the gear is 2
    double force_at_start = 0;
    const double both[] = {0, control};
    robot.advance(both, [&] { force_at_start = robot.force(ActuatorId{1}); });
    EXPECT_NEAR(force_at_start, force, 1e-12) << speed << " rad/s, control " << control;
  }
}

TEST_F(RandomisedModel, AMotorsControlArrivesTimeStepsLater) {
  for (const double delay : {0.0, 0.9, 2.0, 2.7, 4.0}) {
    std::vector<double> forces, expected;
    Changed robot(*file, 4, {{ModelParameter::motor, 1}}, {1e30, 1e30, delay});
    for (const double control : {1.0, 2.0, 3.0}) {
      if (control > 1) robot.begin_step();
      const double both[] = {0, control};
      robot.advance(both, [&] { forces.push_back(robot.force(ActuatorId{1})); });
      // The first control arrives at once, because there is none before it.
      for (int k = 0; k < 4; ++k)
        expected.push_back(k < static_cast<int>(delay) && control > 1 ? control - 1 : control);
    }
    EXPECT_EQ(forces, expected) << delay;
  }
}

// Every 0.5 s, for 0.1 s; a step takes 0.02 s.
TEST_F(RandomisedModel, PushesComeInIntervals) {
  const double numbers[] = {30, 0.5, 0.1};
  for (int step = 0; step < 200; ++step) {
    const Push<double> push(numbers, 0.02 * step, 0.02);
    EXPECT_EQ(push.begins, step >= 25 && step % 25 == 0) << step;
    EXPECT_EQ(push.lasts, step >= 25 && step % 25 < 5) << step;
  }
  const double none[] = {0, 0, 0};
  EXPECT_FALSE(Push<double>(none, 1, 0.02).lasts);
}
// The ball of 1 kg rolls nowhere until a force of 30 N has pushed it for 0.02 s.
TEST_F(RandomisedModel, APushChangesTheMomentum) {
  double directions[kPushDirection] = {};
  Changed robot(*file, 2, {{ModelParameter::push, body("ball")}}, {30, 0.04, 0.02});  // two time steps of 0.01 s
  const auto speed = [&] { return std::hypot(robot.qvel(2), robot.qvel(3)); };
  for (uint64_t step = 0; step < 4; ++step) {
    robot.begin_step();
    robot.push(Draws<double>(1, 2, step), directions);
    robot.advance(kStill);
    EXPECT_NEAR(speed(), step < 2 ? 0 : 0.6, 1e-12) << step;  // it falls freely
  }
  EXPECT_NEAR(std::hypot(directions[0], directions[1]), 1, 1e-12);
}
// The ball's inertia is 2/5 m r^2 = 0.004 kg m^2. A torque of 0.1 N m turns it for 0.02 s.
TEST_F(RandomisedModel, ATorqueChangesTheAngularMomentum) {
  double directions[2 * kPushDirection] = {};
  Changed robot(*file, 2, {{ModelParameter::push, body("ball")}, {ModelParameter::push_torque, body("ball")}},
                {0, 0.04, 0.02, 0.1, 0, 0});
  for (uint64_t step = 0; step < 4; ++step) {
    robot.begin_step();
    robot.push(Draws<double>(1, 2, step), directions);
    robot.advance(kStill);
    const double turning = std::hypot(robot.qvel(5), robot.qvel(6), robot.qvel(7));
    EXPECT_NEAR(turning, step < 2 ? 0 : 0.1 * 0.02 / 0.004, 1e-12) << step;
  }
  EXPECT_NEAR(std::hypot(directions[2], directions[3], directions[4]), 1, 1e-12);
}
// The mean of each number of 4000 axes is 0, with a standard deviation of sqrt(1/3/4000) = 0.009.
TEST_F(RandomisedModel, AllAxesOfTorquesAreEquallyLikely) {
  const double numbers[] = {1, 0.02, 0.02};
  double sum[3] = {}, squares[3] = {};
  for (uint64_t step = 0; step < 4000; ++step) {
    Draws<double> draws(1, 2, step);
    double direction[kPushDirection] = {};
    Push<double>(numbers, 1, 0.02).draw_direction(draws, direction);
    for (int k = 0; k < 3; ++k) sum[k] += direction[2 + k], squares[k] += direction[2 + k] * direction[2 + k];
  }
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(sum[k] / 4000, 0, 0.04) << k;
    EXPECT_NEAR(squares[k] / 4000, 1. / 3, 0.03) << k;
  }
}

TEST_F(RandomisedModel, FactorsApplyToWhatTheTaskSets) {
  const int ball = mj_name2id(file.get(), mjOBJ_GEOM, "ball");
  Changed robot(*file, 1, {{ModelParameter::friction, ball}, {ModelParameter::center_of_mass, body("cart")}},
                {0.5, 1, 1, 0.25, 0, 0});
  robot.shift_center_of_mass(BodyId{body("cart")}, {{0.5, 0, 0}});
  robot.set_friction(GeomId{ball}, {{1, 0.1, 0.01}});
  robot.forward();
  EXPECT_NEAR(robot.center_of_mass(BodyId{body("cart")})[0], 0.1 + 0.5 + 0.25, 1e-15);
}

TEST_F(RandomisedModel, RangesAreSetByNames) {
  const ModelRanges ranges(*file, 4, "body_mass * 0.8 1.2\nbody_mass a*m 1.1 1.3\nkp servo 0.5 0.5\ngravity z -1 1\n");
  EXPECT_EQ(bounds(ranges, ModelParameter::mass, body("cart"), 0), std::pair(0.8f, 1.2f));
  EXPECT_EQ(bounds(ranges, ModelParameter::mass, body("arm"), 0), std::pair(1.1f, 1.3f));
  EXPECT_EQ(bounds(ranges, ModelParameter::mass, body("arm"), 1), std::pair(0.f, 0.f));
  EXPECT_EQ(bounds(ranges, ModelParameter::actuator, 0, 0), std::pair(0.5f, 0.5f));
  EXPECT_EQ(bounds(ranges, ModelParameter::actuator, 1, 0), std::pair(1.f, 1.f));
  EXPECT_EQ(bounds(ranges, ModelParameter::gravity, 0, 2), std::pair(-1.f, 1.f));
  EXPECT_EQ(bounds(ranges, ModelParameter::gravity, 0, 0), std::pair(0.f, 0.f));
}

// A parameter is the factor less 1.
TEST_F(RandomisedModel, RangesOfInertias) {
  const ModelRanges ranges(*file, 4, "body_inertia * 0.5 1.5\nbody_inertia arm 3 3\n");
  EXPECT_EQ(bounds(ranges, ModelParameter::mass, body("cart"), 0), std::pair(1.f, 1.f));
  EXPECT_EQ(bounds(ranges, ModelParameter::mass, body("cart"), 2), std::pair(-0.5f, 0.5f));
  EXPECT_EQ(bounds(ranges, ModelParameter::mass, body("arm"), 2), std::pair(2.f, 2.f));
  const ModelRanges others(*file, 4, "kp servo 0.5 1.5\n");
  EXPECT_EQ(bounds(others, ModelParameter::mass, body("cart"), 2), std::pair(0.f, 0.f));
  expect_mentions(error_of("body_inertia carr 0.8 1.2\n"), {"--env.dr.body_inertia", "'carr'", "'cart'"});
}
TEST_F(RandomisedModel, RangesOfOneAxis) {
  const ModelRanges ranges(*file, 4, "center_of_mass * -1 1\ncenter_of_mass c*t.z -2 3\ngravity y -4 4\n");
  const auto shift = [&](const char* name, int axis) {
    return bounds(ranges, ModelParameter::center_of_mass, body(name), axis);
  };
  EXPECT_EQ(shift("cart", 0), std::pair(-1.f, 1.f));
  EXPECT_EQ(shift("cart", 1), std::pair(-1.f, 1.f));
  EXPECT_EQ(shift("cart", 2), std::pair(-2.f, 3.f));
  EXPECT_EQ(shift("arm", 2), std::pair(-1.f, 1.f));
  EXPECT_EQ(bounds(ranges, ModelParameter::gravity, 0, 1), std::pair(-4.f, 4.f));
  const ModelRanges sites(*file, 4, "site_turn imu.x 0 1\n");
  EXPECT_EQ(bounds(sites, ModelParameter::site_turn, 0, 0), std::pair(0.f, 1.f));
  EXPECT_EQ(bounds(sites, ModelParameter::site_turn, 0, 1), std::pair(0.f, 0.f));
  expect_mentions(error_of("center_of_mass cart.w -1 1\n"), {"--env.dr.center_of_mass", "'cart.w'", "'cart'"});
  expect_mentions(error_of("body_mass cart.x 1 2\n"), {"--env.dr.body_mass", "'cart.x'", "'cart'"});
}

// * stands for the roots only, because an arm is seldom pushed with its base.
TEST_F(RandomisedModel, PushesAreOnRootsUnlessABodyIsNamed) {
  const std::string rest = "push_interval * 1 2\npush_duration * 0.1 0.2\n";
  const ModelRanges roots(*file, 4, "push_force * 5 9\n" + rest);
  EXPECT_EQ(bounds(roots, ModelParameter::push, body("cart"), 0), std::pair(5.f, 9.f));
  EXPECT_EQ(bounds(roots, ModelParameter::push, body("ball"), 0), std::pair(5.f, 9.f));
  EXPECT_EQ(bounds(roots, ModelParameter::push, body("arm"), 0), std::pair(0.f, 0.f));
  const ModelRanges arm(*file, 4, "push_force arm 5 9\npush_interval arm 1 2\npush_duration arm 0.1 0.2\n");
  EXPECT_EQ(bounds(arm, ModelParameter::push, body("arm"), 0), std::pair(5.f, 9.f));
  EXPECT_EQ(bounds(arm, ModelParameter::push, body("cart"), 0), std::pair(0.f, 0.f));
}

TEST_F(RandomisedModel, RefusesWhatTheModelCannotDo) {
  EXPECT_EQ(error_of("body_mass * 0.8 1.2\nmotor_delay motor 0 4\n"), "no error");
  expect_mentions(error_of("body_mass carr 0.8 1.2\n"), {"--env.dr.body_mass", "'carr'", "'cart'"});
  expect_mentions(error_of("joint_damping pivot 1 2\n"), {"--env.dr.joint_damping", "'pivot'", "'rail'"});
  expect_mentions(error_of("body_mass arm 0 1\n"), {"--env.dr.body_mass", "'arm'", "3"});
  expect_mentions(error_of("added_mass cart -2.5 0\n"), {"--env.dr.added_mass", "'cart'", "-0.5"});
  expect_mentions(error_of("stall_torque motor 20 20\n"), {"'motor'", "--env.dr.stall_torque", "no_load_speed"});
  expect_mentions(error_of("push_force * 10 20\npush_interval * 1 2\n"), {"push_duration", "'cart'"});
  EXPECT_EQ(error_of("push_force cart 9 9\npush_interval cart 1 2\npush_duration cart 0.1 0.2\n"), "no error");
  expect_mentions(error_of("push_force arm 10 20\n"), {"push_torque", "'arm'"});
  EXPECT_EQ(error_of("push_torque arm 1 2\npush_interval arm 1 2\npush_duration arm 0.1 0.2\n"), "no error");
  expect_mentions(error_of("push_force leg 10 20\n"), {"--env.dr.push_force", "'leg'"});
  expect_mentions(error_of("joint_range rail 0.5 0.5\n"), {"--env.dr.joint_range", "'rail'", "'pivot'"});
  expect_mentions(error_of("site_turn mark 0 1\n"), {"--env.dr.site_turn", "'mark'", "'imu'"});
  expect_mentions(error_of("motor_network motor 0 0\n"), {"--env.dr.motor_network", "'motor'", "'servo'"});
  expect_mentions(error_of("kp servo 0.8 1.2\nmotor_network servo 0 0\n"),
                  {"--env.dr.kp", "--env.dr.motor_network", "'servo'"});
  EXPECT_EQ(error_of("kp * 0.8 1.2\nmotor_network servo 0 0\n"), "no error");  // the motor has a gain of its own
  expect_mentions(error_of("motor_delay motor 0 6\n"), {"--env.dr.motor_delay", "6", "4", "--env.delay.action"});
  EXPECT_EQ(error_of("center_of_mass cart -1 1\n"), "no error");
  // The ball's centre of mass coincides with its geom, and would take it along.
  expect_mentions(error_of("center_of_mass ball -1 1\n"), {"--env.dr.center_of_mass", "'ball'"});
}

}  // namespace
}  // namespace drl

#include "compared.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "drl/physics/mujoco_version.hpp"
#include "drl/physics/randomised_model.hpp"

namespace drl::test {

Compared::Compared(const std::string& file, std::unique_ptr<ExactRobot> of) : reference(file), robot(std::move(of)) {
  file_.reset(mj_copyModel(nullptr, &reference.model()));
  robot->begin(reference.model());
}

void Compared::vary() {
  if (robot->facts.is_randomised) return vary_all();
  double* values = robot->parameters.data();
  for (const physics::Parameter& parameter : robot->facts.parameters) {
    const bool is_friction = parameter.kind == ModelParameter::friction;
    for (int k = 0; k < 3; ++k)
      values[k] = is_friction ? parameter.start[k] * std::exp(reference.draw()) : 0.03 * reference.draw();
    is_friction ? reference.set_friction(parameter.index, values)
                : reference.shift_center_of_mass(parameter.index, values);
    values += 3;
  }
}

void Compared::set(const RobotState& from) {
  for (const std::span<double> numbers : {robot->qpos, robot->qvel, robot->warm_start, robot->act})
    std::ranges::fill(numbers, 0.0);
  *robot->time = 0;
  std::ranges::copy(from.qpos, robot->qpos.begin());
  std::ranges::copy(from.qvel, robot->qvel.begin());
  std::ranges::copy(from.warm_start, robot->warm_start.begin());
  std::ranges::copy(from.ctrl, robot->ctrl.begin());
  if (!robot->act.empty()) std::ranges::copy(from.act, robot->act.begin());
}

constexpr double kSame = 1e-9;  // for quantities without noise

// The change in libmujoco's results with another warm start, or with changes of the state's last bits.
struct Compared::Noise {
  double qacc = 0, qpos = 0, qvel = 0, qfrc_constraint = 0;
  // Returns a hundred times the noise, but at least `least`.
  static double bound(double least, double noise) { return std::max(least, 100 * noise); }
};
template <class After>
Compared::Noise Compared::noise_of(const RobotState& from, const After& after) {
  const mjModel& m = reference.model();
  const mjData& d = after(from, true);
  const std::vector<double> qacc(d.qacc, d.qacc + m.nv), qpos(d.qpos, d.qpos + m.nq), qvel(d.qvel, d.qvel + m.nv),
      force(d.qfrc_constraint, d.qfrc_constraint + m.nv);
  Noise noise;
  for (const bool warm : {false, true}) {
    const mjData& other = after(warm ? reference.nearby(from, 1e-15) : from, warm);
    noise.qacc = std::max(noise.qacc, difference(other.qacc, qacc.data(), m.nv));
    noise.qpos = std::max(noise.qpos, difference(other.qpos, qpos.data(), m.nq));
    noise.qvel = std::max(noise.qvel, difference(other.qvel, qvel.data(), m.nv));
    noise.qfrc_constraint = std::max(noise.qfrc_constraint, difference(other.qfrc_constraint, force.data(), m.nv));
  }
  return noise;
}

template <class After>
const mjData& Compared::expect_same(const RobotState& from, const After& after, void (ExactRobot::*compute)(),
                                    Noise& noise) {
  noise = noise_of(from, after);
  const mjData& expected = after(from, true);
  set(from);
  (robot.get()->*compute)();
  expect_stage(expected, noise);
  return expected;
}
const mjData& Compared::expect_step(const RobotState& from) {
  const mjModel& m = reference.model();
  const auto after = [&](const RobotState& s, bool warm) -> const mjData& { return reference.after_step(s, warm); };
  Noise noise;
  const mjData& expected = expect_same(from, after, &ExactRobot::step, noise);
  EXPECT_LE(difference(robot->qpos.data(), expected.qpos, m.nq), noise.bound(1e-10, noise.qpos));
  EXPECT_LE(difference(robot->qvel.data(), expected.qvel, m.nv), noise.bound(1e-10, noise.qvel));
  EXPECT_NEAR(*robot->time, expected.time, 1e-15);
  if (!robot->act.empty()) {
    EXPECT_LE(difference(robot->act.data(), expected.act, m.na), 1e-14);
  }
  return expected;
}
const mjData& Compared::expect_evaluation(const RobotState& from) {
  const auto after = [&](const RobotState& s, bool warm) -> const mjData& { return reference.after_forward(s, warm); };
  Noise noise;
  return expect_same(from, after, &ExactRobot::evaluate, noise);
}
void Compared::expect_evaluation_or_no_place(const RobotState& from) {
  const RobotFacts& facts = robot->facts;
  const mjData& expected = reference.after_forward(from);
  if (reference.pair_places(expected, facts.ground_pairs == 0) <= facts.pair_contacts) {
    expect_evaluation(from);
    return;
  }
  set(from);
  robot->evaluate();
  ASSERT_EQ(*robot->unsolved, 1);
}
std::pair<double, const mjData*> Compared::evaluate(const RobotState& from) {
  const mjData& expected = reference.after_forward(from);
  set(from);
  robot->evaluate();
  return {difference(robot->qacc.data(), expected.qacc, reference.model().nv), &expected};
}

void Compared::expect_run(const RobotState& from, int steps, double distance) {
  const double solved = robot->facts.has_cones ? 1e-11 : 0;  // what the solver leaves in elliptic cones
  const mjModel& m = reference.model();
  const auto controls = reference.random_controls(steps);
  const auto path = reference.run(from, controls);
  std::vector<double> spread(path.size());
  for (int shift = 0; shift < 8; ++shift) {
    const auto shifted = reference.run(reference.nearby(from, distance), controls);
    for (size_t t = 0; t < path.size(); ++t)
      spread[t] = std::max(spread[t], difference(shifted[t].data(), path[t].data(), m.nq + m.nv));
  }
  set(from);
  for (size_t t = 0; t < path.size(); ++t) {
    std::ranges::copy(controls[t], robot->ctrl.begin());
    robot->step();
    std::vector<double> here(robot->qpos.begin(), robot->qpos.begin() + m.nq);
    here.insert(here.end(), robot->qvel.begin(), robot->qvel.begin() + m.nv);
    spread[t] = std::max(spread[t], t > 0 ? spread[t - 1] : 0);
    const double away = difference(here.data(), path[t].data(), m.nq + m.nv);
    EXPECT_LE(away, std::max(solved, 10 * spread[t])) << "after " << t + 1 << " steps";
  }
}

// Draws new numbers of all parameters, and gives libmujoco's model the same.
void Compared::vary_all() {
  const auto draw = [&](double low, double high) { return low + (high - low) * 0.5 * (1 + reference.draw()); };
  std::vector<std::array<double, 5>> pushes;    // body, place in xfrc_applied, force or torque
  std::map<int, std::array<double, 2>> motors;  // by the actuator: stall torque and no-load speed
  const mjModel& file = *file_;
  reference.change([&](mjModel& to) {
    double* values = robot->parameters.data();
    for (const physics::Parameter& parameter : robot->facts.parameters) {
      double x[3] = {1, 1, 1};
      for (double& factor : x) factor = draw(0.5, 1.5);
      if (parameter.kind == ModelParameter::center_of_mass)
        for (double& shift : x) shift = draw(-0.03, 0.03);
      if (parameter.kind == ModelParameter::mass) x[1] = file.body_mass[parameter.index] * draw(-0.3, 2), x[2] -= 1;
      if (parameter.kind == ModelParameter::gravity)
        for (double& change : x) change = draw(-2, 2);
      if (parameter.kind == ModelParameter::motor) {
        // A line that falls steeply would make the explicit time step of a light robot unstable.
        const bool is_limited = file.actuator_forcelimited[parameter.index];
        const double limit = is_limited ? file.actuator_forcerange[2 * parameter.index + 1] : 0.7;
        const double gear = file.actuator_gear[6 * parameter.index];
        motors[parameter.index] = {x[0] = limit * draw(0.5, 2),
                                   x[1] = gear * (is_limited ? draw(0.5, 10) : draw(10, 40))};
        x[2] = 0;
      }
      if (parameter.kind == ModelParameter::push || parameter.kind == ModelParameter::push_torque) {
        const bool is_force = parameter.kind == ModelParameter::push;
        const double most = (is_force ? 30 : 0.5) * file.body_mass[parameter.index];  // m/s^2, m^2/s^2
        for (double& number : x) number = most * draw(-1, 1);
        pushes.push_back({static_cast<double>(parameter.index), is_force ? 0.0 : 3.0, x[0], x[1], x[2]});
      }
      if (parameter.kind == ModelParameter::network) x[0] = draw(0, 1), x[1] = draw(-2, 2);
      if (parameter.kind == ModelParameter::size) x[0] = draw(0.6, 1.2), x[1] = 0.6 + 0.65 * (x[1] - 0.5);
      if (parameter.kind == ModelParameter::range) x[1] = draw(-0.3, 0.3);
      if (parameter.kind == ModelParameter::site_position)
        for (double& shift : x) shift = draw(-0.1, 0.1);
      if (parameter.kind == ModelParameter::site_turn)
        for (double& angle : x) angle = draw(-1, 1);
      std::copy_n(x, 3, values);
      if (parameter.kind == ModelParameter::friction)
        for (int k = 0; k < 3; ++k) values[k] = parameter.start[k] * x[0];
      change_model(file, {parameter.kind, parameter.index}, x, to);
      values += 3;
    }
    finish_changes(to), robot->derive_constants();
    limits_.assign(to.actuator_forcerange, to.actuator_forcerange + 2 * to.nu);
  });
  // A motor's torque is at most stall * (1 - speed / no-load speed) in the direction in which it turns, and at least
  // its negative the other way; both are within the actuator's own limits.
  const auto limit = [motors, pushes, ranges = limits_, &file](mjData& d, mjModel& m) {
    for (const auto& [body, place, x, y, z] : pushes) {
      const double along[] = {x, y, z};
      std::copy_n(along, 3, d.xfrc_applied + 6 * static_cast<int>(body) + static_cast<int>(place));
    }
    for (const auto& [a, motor] : motors) {
      const double speed = m.actuator_gear[6 * a] * d.qvel[m.jnt_dofadr[m.actuator_trnid[2 * a]]];
      const double most = motor[0] * (1 - speed / motor[1]), least = motor[0] * (-1 - speed / motor[1]);
      const auto within = [&](double torque) {
        const double* range = &ranges[2 * static_cast<size_t>(a)];
        return file.actuator_forcelimited[a] ? std::min(std::max(torque, range[0]), range[1]) : torque;
      };
      m.actuator_forcerange[2 * a] = within(least), m.actuator_forcerange[2 * a + 1] = within(most);
      m.actuator_forcelimited[a] = 1;
    }
  };
  reference.change([](mjModel&) {}, limit);
}

void Compared::expect_stage(const mjData& d, const Noise& noise) {
  const mjModel& m = reference.model();
  // After the noslip solver, rounding leaves up to 1.6e-10 at accelerations of 7,000 rad/s^2, and nothing without it.
  const double least = m.opt.noslip_iterations > 0 ? 1e-9 : 1e-10;
  EXPECT_LE(difference(robot->qacc.data(), d.qacc, m.nv), noise.bound(least, noise.qacc));
  EXPECT_EQ(*robot->unsolved, 0);
  expect_derived(m, d, noise);
}
void Compared::expect_derived(const mjModel& m, const mjData& d, const Noise& noise) {
  const Quantities q = robot->derive();
  const auto expect = [](const char* name, const std::vector<double>& numbers, const mjtNum* expected, auto count,
                         double most = kSame) {
    ASSERT_GE(numbers.size(), static_cast<size_t>(count)) << name;
    EXPECT_LE(difference(numbers.data(), expected, static_cast<int>(count)), most) << name;
  };
  // The force of a constraint is the difference of D aref and D J qacc, which are large if it is stiff.
  double rounding = noise.qfrc_constraint;
  for (int i = 0; i < d.nefc; ++i)
    rounding = std::max(rounding, std::numeric_limits<double>::epsilon() * d.efc_D[i] * std::abs(d.efc_aref[i]));
  const double of_constraints = Noise::bound(kSame, rounding);
  expect("xpos", q.xpos, d.xpos, 3 * m.nbody), expect("xquat", q.xquat, d.xquat, 4 * m.nbody);
  expect("xipos", q.xipos, d.xipos, 3 * m.nbody), expect("subtree_com", q.subtree_com, d.subtree_com, 3 * m.nbody);
  expect("geom_xpos", q.geom_xpos, d.geom_xpos, 3 * m.ngeom);
  expect("site_xpos", q.site_xpos, d.site_xpos, 3 * m.nsite);
  expect("cinert", q.cinert, d.cinert + 10, 10 * (m.nbody - 1)), expect("cvel", q.cvel, d.cvel + 6, 6 * (m.nbody - 1));
  // The armature of a tendon needs the velocity of Runge-Kutta's last stage, which libmujoco does not keep. If nothing
  // can make a tendon longer, its dry friction is rounding.
  bool has_tendons_forces = true;
  for (int t = 0; t < m.ntendon; ++t)
    has_tendons_forces = has_tendons_forces && (m.opt.integrator != mjINT_RK4 || m.tendon_armature[t] == 0) &&
                         (m.tendon_frictionloss[t] == 0 || m.tendon_invweight0[t] > 1e-12);
  if (has_tendons_forces) expect("cfrc_ext", q.cfrc_ext, d.cfrc_ext + 6, 6 * (m.nbody - 1), of_constraints);
  expect("qfrc_actuator", q.qfrc_actuator, d.qfrc_actuator, m.nv);
  expect("qfrc_constraint", q.qfrc_constraint, d.qfrc_constraint, m.nv, of_constraints);
  expect("actuator_force", q.actuator_force, d.actuator_force, m.nu);
  // A vector of forces or accelerations has the rounding of its largest component in all three, and the noise of qacc.
  // Contact sensors show forces of constraints.
  for (int s = 0; s < m.nsensor; ++s) {
    const bool is_contact = m.sensor_type[s] == mjSENS_CONTACT;
    const bool is_vector = m.sensor_needstage[s] == mjSTAGE_ACC && m.sensor_dim[s] == 3 && !is_contact;
    const double most = is_vector ? noise.bound(kSame, noise.qacc) : is_contact ? of_constraints : kSame;
    const int shown = is_contact ? m.sensor_intprm[s * mjNSENS] : 0, begin = m.sensor_adr[s],
              force = (shown >> mjCONDATA_FORCE & 1) ? begin + (shown >> mjCONDATA_FOUND & 1) : -1,
              end = std::min(begin + m.sensor_dim[s], static_cast<int>(q.sensordata.size()));
    for (int k = begin, together = 1; k < end; k += together) {
      together = is_vector || k == force ? 3 : 1;
      EXPECT_LE(difference(&q.sensordata[static_cast<size_t>(k)], d.sensordata + k, together), most)
          << "sensor number " << k;
    }
  }
}

}  // namespace drl::test

// Compares a robot's physics in double, one lane at a time, with libmujoco.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "drl/physics/randomised_model.hpp"
#include "drl/physics/shared_heights.hpp"
#include "drl/physics/support.hpp"
#include "reference.hpp"

namespace drl::test {

template <class P>
class Compared {
 public:
  explicit Compared(const std::string& file) : reference(file) {
    file_.reset(mj_copyModel(nullptr, &reference.model()));
    load_heights<P>(reference.model());
    physics::begin_parameters<P>(stage);
  }

  // Draws new frictions and centres of mass, if the model has parameters.
  void vary() {
    if constexpr (physics::is_randomised<P>())
      vary_all();
    else if constexpr (P::kParameters > 0)
      for (int p = 0; 3 * p < P::kParameters; ++p) {
        const physics::Parameter& parameter = P::parameter(p);
        const bool is_friction = parameter.kind == ModelParameter::friction;
        double* values = stage.parameters + 3 * p;
        for (int k = 0; k < 3; ++k)
          values[k] = is_friction ? parameter.start[k] * std::exp(reference.draw()) : 0.03 * reference.draw();
        is_friction ? reference.set_friction(parameter.index, values)
                    : reference.shift_center_of_mass(parameter.index, values);
      }
  }

  // Continues from this state.
  void set(const RobotState& from) {
    state = {};
    std::ranges::copy(from.qpos, state.qpos);
    std::ranges::copy(from.qvel, state.qvel);
    std::ranges::copy(from.warm_start, state.warm_start);
    std::ranges::copy(from.ctrl, ctrl);
    if constexpr (physics::count_activations<P>() > 0) std::ranges::copy(from.act, state.act);
  }
  // Compares a step and all quantities of its last stage, and returns libmujoco's data.
  const mjData& expect_step(const RobotState& from) {
    const mjModel& m = reference.model();
    const auto after = [&](const RobotState& s, bool warm) -> const mjData& { return reference.after_step(s, warm); };
    const Noise noise = noise_of(from, after);
    const mjData& expected = after(from, true);
    set(from);
    forces = physics::step<P>(state, ctrl, stage);
    expect_stage(expected, noise);
    EXPECT_LE(difference(state.qpos, expected.qpos, m.nq), noise.bound(1e-10, noise.qpos));
    EXPECT_LE(difference(state.qvel, expected.qvel, m.nv), noise.bound(1e-10, noise.qvel));
    EXPECT_NEAR(state.time, expected.time, 1e-15);
    if constexpr (physics::count_activations<P>() > 0) {
      EXPECT_LE(difference(state.act, expected.act, m.na), 1e-14);
    }
    return expected;
  }
  // Compares all quantities of a state without a step.
  const mjData& expect_evaluation(const RobotState& from) {
    const auto after = [&](const RobotState& s, bool warm) -> const mjData& {
      return reference.after_forward(s, warm);
    };
    const Noise noise = noise_of(from, after);
    const mjData& expected = after(from, true);
    set(from);
    forces = physics::evaluate<P>(state, ctrl, stage);
    expect_stage(expected, noise);
    return expected;
  }

  // Compares a run of this many steps. Its distance from libmujoco must be at most ten times the distance between
  // libmujoco's runs whose initial states differ by this relative distance, by default in their last bits.
  void expect_run(const RobotState& from, int steps, double distance = 1e-15) {
    constexpr double kSolved = physics::has_cones<P>() ? 1e-11 : 0;  // what the solver leaves in elliptic cones
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
      std::ranges::copy(controls[t], ctrl);
      physics::step<P>(state, ctrl, stage);
      std::vector<double> here(state.qpos, state.qpos + m.nq);
      here.insert(here.end(), state.qvel, state.qvel + m.nv);
      spread[t] = std::max(spread[t], t > 0 ? spread[t - 1] : 0);
      const double away = difference(here.data(), path[t].data(), m.nq + m.nv);
      EXPECT_LE(away, std::max(kSolved, 10 * spread[t])) << "after " << t + 1 << " steps";
    }
  }
  // Returns a number of MuJoCo's sensordata.
  double sensor(int number) {
    typename P::Derived derived{};
    physics::derive_all<P>(stage, forces, derived);
    return sensor(derived, number);
  }
  Reference reference;
  std::unique_ptr<mjModel, DeleteModel> file_;  // the model without changes
  std::vector<double> limits_;                  // [nu, 2] force ranges of the changed model
  typename P::State state{};
  typename P::Stage stage{};
  typename P::Forces forces{};
  double ctrl[physics::at_least_one(P::nu)] = {};

 private:
  // Draws new numbers of all parameters, and gives libmujoco's model the same.
  void vary_all() {
    const auto draw = [&](double low, double high) { return low + (high - low) * 0.5 * (1 + reference.draw()); };
    std::vector<std::array<double, 5>> pushes;    // body, place in xfrc_applied, force or torque
    std::map<int, std::array<double, 2>> motors;  // by the actuator: stall torque and no-load speed
    const mjModel& file = *file_;
    reference.change([&](mjModel& to) {
      for (int p = 0; 3 * p < P::kParameters; ++p) {
        const physics::Parameter& parameter = P::parameter(p);
        double x[3] = {1, 1, 1}, *values = stage.parameters + 3 * p;
        for (double& factor : x) factor = draw(0.5, 1.5);
        if (parameter.kind == ModelParameter::center_of_mass)
          for (double& shift : x) shift = draw(-0.03, 0.03);
        if (parameter.kind == ModelParameter::mass) x[1] = file.body_mass[parameter.index] * draw(-0.3, 2);
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
        if (parameter.kind == ModelParameter::size) x[0] = draw(0.6, ModelParameter::kMostGrowth);
        if (parameter.kind == ModelParameter::range) x[1] = draw(-0.3, 0.3);
        if (parameter.kind == ModelParameter::site_position)
          for (double& shift : x) shift = draw(-0.1, 0.1);
        if (parameter.kind == ModelParameter::site_turn)
          for (double& angle : x) angle = draw(-1, 1);
        std::copy_n(x, 3, values);
        if (parameter.kind == ModelParameter::friction)
          for (int k = 0; k < 3; ++k) values[k] = parameter.start[k] * x[0];
        change_model(file, {parameter.kind, parameter.index}, x, to);
      }
      finish_changes(to);
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

  // The change in libmujoco's results with another warm start, or with changes of the state's last bits.
  struct Noise {
    double qacc = 0, qpos = 0, qvel = 0;
    // Returns a hundred times the noise, but at least `least`.
    static double bound(double least, double noise) { return std::max(least, 100 * noise); }
  };
  template <class After>
  Noise noise_of(const RobotState& from, const After& after) {
    const mjModel& m = reference.model();
    const mjData& d = after(from, true);
    const std::vector<double> qacc(d.qacc, d.qacc + m.nv), qpos(d.qpos, d.qpos + m.nq), qvel(d.qvel, d.qvel + m.nv);
    Noise noise;
    for (const bool warm : {false, true}) {
      const mjData& other = after(warm ? reference.nearby(from, 1e-15) : from, warm);
      noise.qacc = std::max(noise.qacc, difference(other.qacc, qacc.data(), m.nv));
      noise.qpos = std::max(noise.qpos, difference(other.qpos, qpos.data(), m.nq));
      noise.qvel = std::max(noise.qvel, difference(other.qvel, qvel.data(), m.nv));
    }
    return noise;
  }
  void expect_stage(const mjData& d, const Noise& noise) {
    const mjModel& m = reference.model();
    EXPECT_LE(difference(stage.qacc, d.qacc, m.nv), noise.bound(1e-10, noise.qacc));
    EXPECT_EQ(stage.unsolved, 0);
    expect_derived(m, d);
  }
  double sensor(const typename P::Derived& derived, int number) const {
    const int place = P::sensor_place(number);
    return place < 0 ? derived.sensor[number] : stage.sensed[place / 4][place % 4];
  }
  void expect_derived(const mjModel& m, const mjData& d) {
    typename P::Derived derived;
    physics::derive_all<P>(stage, forces, derived);
    constexpr double kSame = 1e-9;
    EXPECT_LE(difference(&derived.xpos[0][0], d.xpos, 3 * m.nbody), kSame);
    EXPECT_LE(difference(&derived.xquat[0][0], d.xquat, 4 * m.nbody), kSame);
    EXPECT_LE(difference(&derived.xipos[0][0], d.xipos, 3 * m.nbody), kSame);
    EXPECT_LE(difference(&derived.subtree_com[0][0], d.subtree_com, 3 * m.nbody), kSame);
    EXPECT_LE(difference(&derived.geom_xpos[0][0], d.geom_xpos, 3 * m.ngeom), kSame);
    if constexpr (P::nsite > 0) {
      EXPECT_LE(difference(&derived.site_xpos[0][0], d.site_xpos, 3 * m.nsite), kSame);
    }
    EXPECT_LE(difference(derived.cinert[0], d.cinert + 10, 10 * (m.nbody - 1)), kSame);
    EXPECT_LE(difference(derived.cvel[0], d.cvel + 6, 6 * (m.nbody - 1)), kSame);
    EXPECT_LE(difference(derived.cfrc_ext[0], d.cfrc_ext + 6, 6 * (m.nbody - 1)), kSame);
    EXPECT_LE(difference(derived.qfrc_actuator, d.qfrc_actuator, m.nv), kSame);
    EXPECT_LE(difference(derived.qfrc_constraint, d.qfrc_constraint, m.nv), kSame);
    EXPECT_LE(difference(derived.actuator_force, d.actuator_force, m.nu), kSame);
    if constexpr (P::kSensorNumbers > 0)
      for (int k = 0; k < P::kSensorNumbers; ++k) {
        const double sensed = sensor(derived, k);
        EXPECT_LE(difference(&sensed, d.sensordata + k, 1), kSame) << "sensor " << k;
      }
  }
};

}  // namespace drl::test

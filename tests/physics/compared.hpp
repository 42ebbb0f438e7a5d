// A robot's physics in double, a lane at a time, beside libmujoco's.
#pragma once

#include <gtest/gtest.h>

#include "drl/physics_support.hpp"
#include "reference.hpp"

namespace drl::test {

template <class P>
class Compared {
 public:
  explicit Compared(const std::string& file) : reference(file) { physics::begin_parameters<P>(stage); }

  // Other frictions and centres of mass, where the model has those that environments change.
  void vary() {
    if constexpr (P::kParameters > 0)
      for (int p = 0; 3 * p < P::kParameters; ++p) {
        const physics::Parameter& parameter = P::parameter(p);
        const bool is_friction = parameter.kind == physics::Parameter::friction;
        double* own = stage.own + 3 * p;
        for (int k = 0; k < 3; ++k)
          own[k] = is_friction ? parameter.start[k] * std::exp(reference.draw()) : 0.03 * reference.draw();
        is_friction ? reference.set_friction(parameter.index, own)
                    : reference.shift_center_of_mass(parameter.index, own);
      }
  }

  // From a state on, in numbers of the robot's own.
  void set(const RobotState& from) {
    state = {};
    std::ranges::copy(from.qpos, state.qpos);
    std::ranges::copy(from.qvel, state.qvel);
    std::ranges::copy(from.warm_start, state.warm_start);
    std::ranges::copy(from.ctrl, ctrl);
  }
  // A step, and all that is left after it of its last stage; what libmujoco says.
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
    return expected;
  }
  // All of a state that is not stepped.
  const mjData& expect_look(const RobotState& from) {
    const auto after = [&](const RobotState& s, bool warm) -> const mjData& {
      return reference.after_forward(s, warm);
    };
    const Noise noise = noise_of(from, after);
    const mjData& expected = after(from, true);
    set(from);
    forces = physics::look<P>(state, ctrl, stage);
    expect_stage(expected, noise);
    return expected;
  }

  // Left to itself for as many steps: no further away from libmujoco than ten times what libmujoco is from itself, if
  // all numbers of the start are shifted by their last bits.
  void expect_run(const RobotState& from, int steps) {
    const mjModel& m = reference.model();
    const auto controls = reference.random_controls(steps);
    const auto path = reference.run(from, controls);
    std::vector<double> own(path.size());
    for (int shift = 0; shift < 8; ++shift) {
      const auto shifted = reference.run(reference.nearby(from, 1e-15), controls);
      for (size_t t = 0; t < path.size(); ++t)
        own[t] = std::max(own[t], difference(shifted[t].data(), path[t].data(), m.nq + m.nv));
    }
    set(from);
    for (size_t t = 0; t < path.size(); ++t) {
      std::ranges::copy(controls[t], ctrl);
      physics::step<P>(state, ctrl, stage);
      std::vector<double> here(state.qpos, state.qpos + m.nq);
      here.insert(here.end(), state.qvel, state.qvel + m.nv);
      own[t] = std::max(own[t], t > 0 ? own[t - 1] : 0);
      const double away = difference(here.data(), path[t].data(), m.nq + m.nv);
      EXPECT_LE(away, 10 * own[t]) << "after " << t + 1 << " steps";
    }
  }
  Reference reference;
  typename P::State state{};
  typename P::Stage stage{};
  typename P::Forces forces{};
  double ctrl[physics::some(P::nu)] = {};

 private:
  // What changes in libmujoco with another warm start, or with the last bits of the state.
  struct Noise {
    double qacc = 0, qpos = 0, qvel = 0;
    // A hundred times that, but at least `least`.
    static double bound(double least, double own) { return std::max(least, 100 * own); }
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
    expect_seen(m, d);
  }
  void expect_seen(const mjModel& m, const mjData& d) {
    typename P::Seen seen;
    physics::see<P>(stage, forces, seen);
    constexpr double kSame = 1e-9;
    EXPECT_LE(difference(&seen.xpos[0][0], d.xpos, 3 * m.nbody), kSame);
    EXPECT_LE(difference(&seen.xquat[0][0], d.xquat, 4 * m.nbody), kSame);
    EXPECT_LE(difference(&seen.xipos[0][0], d.xipos, 3 * m.nbody), kSame);
    EXPECT_LE(difference(&seen.subtree_com[0][0], d.subtree_com, 3 * m.nbody), kSame);
    EXPECT_LE(difference(&seen.geom_xpos[0][0], d.geom_xpos, 3 * m.ngeom), kSame);
    if constexpr (P::nsite > 0) {
      EXPECT_LE(difference(&seen.site_xpos[0][0], d.site_xpos, 3 * m.nsite), kSame);
    }
    EXPECT_LE(difference(seen.cinert[0], d.cinert + 10, 10 * (m.nbody - 1)), kSame);
    EXPECT_LE(difference(seen.cvel[0], d.cvel + 6, 6 * (m.nbody - 1)), kSame);
    EXPECT_LE(difference(seen.cfrc_ext[0], d.cfrc_ext + 6, 6 * (m.nbody - 1)), kSame);
    EXPECT_LE(difference(seen.qfrc_actuator, d.qfrc_actuator, m.nv), kSame);
    EXPECT_LE(difference(seen.qfrc_constraint, d.qfrc_constraint, m.nv), kSame);
    EXPECT_LE(difference(seen.actuator_force, d.actuator_force, m.nu), kSame);
    if constexpr (P::kSensorNumbers > 0)
      for (int k = 0; k < P::kSensorNumbers; ++k) {
        const int place = P::sensor_place(k);
        const double sensed = place < 0 ? seen.sensor[k] : stage.sensed[place / 4][place % 4];
        EXPECT_LE(difference(&sensed, d.sensordata + k, 1), kSame) << "sensor " << k;
      }
  }
};

}  // namespace drl::test

// Controls of robots in libmujoco and in lanes: random ones, or those with which a robot keeps its posture.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "drl/math.hpp"
#include "model.hpp"

namespace drl {

// Computes an actuator's control: a constant, or that of a PD controller that drives a motor.
struct Servo {
  double target = 0, noise = 0;  // of the control, or of the joint's position
  int qpos = -1, dof = -1;       // of a motor's joint
  double stiffness = 0, damping = 0, low = 0, high = 0;

  double draw(test::Reference& draws) const { return target + noise * draws.draw(); }
  template <class F>
  F control(F at, const auto& qpos_now, const auto& qvel_now) const {
    if (dof < 0) return at;
    const F wanted = F(stiffness) * (at - F(qpos_now[qpos])) - F(damping) * F(qvel_now[dof]);
    return math::max(math::min(wanted, F(high)), F(low));
  }
};

// Returns servos whose controls are random in their ranges, or from -1 to 1.
inline std::vector<Servo> random_servos(const mjModel& m) {
  std::vector<Servo> servos;
  for (int a = 0; a < m.nu; ++a) {
    Servo servo{.low = -1, .high = 1};
    if (const mjtNum* range = m.actuator_ctrlrange + 2 * a; m.actuator_ctrllimited[a])
      servo.low = range[0], servo.high = range[1];
    servo.target = (servo.low + servo.high) / 2, servo.noise = (servo.high - servo.low) / 2;
    servos.push_back(servo);
  }
  return servos;
}
// Returns servos that hold the posture of `d`, after mj_forward, or apply its controls if these are not all 0. A
// motor's stiffness reaches its largest torque at 0.3 rad, if the time step allows that; without a range of controls,
// the joint would oscillate at 10 Hz.
inline std::vector<Servo> standing_servos(const mjModel& m, const mjData& d) {
  constexpr double kFullTorqueAt = 0.3, kDampingTime = 0.05, kNoise = 0.02;
  const bool has_controls = std::any_of(d.ctrl, d.ctrl + m.nu, [](double x) { return x != 0; });
  std::vector<Servo> servos = random_servos(m);
  for (int a = 0; a < m.nu; ++a) {
    Servo& servo = servos[a];
    servo.target = d.ctrl[a];
    servo.noise = kNoise * (servo.high - servo.low);
    const int joint = m.actuator_trnid[2 * a];
    const bool is_on_joint = m.actuator_trntype[a] == mjTRN_JOINT && m.jnt_type[joint] >= mjJNT_SLIDE;  // or a hinge
    const double gain = m.actuator_gainprm[mjNGAIN * a], back = m.actuator_biasprm[mjNBIAS * a + 1];
    if (!has_controls && back != 0 && gain != 0)  // a position servo
      servo.target = -back / gain * d.actuator_length[a];
    if (m.actuator_ctrllimited[a]) servo.target = std::clamp(servo.target, servo.low, servo.high);
    if (!has_controls && back == 0 && is_on_joint && m.actuator_dyntype[a] == mjDYN_NONE) {
      servo.qpos = m.jnt_qposadr[joint], servo.dof = m.jnt_dofadr[joint];
      const double inertia = 1 / m.dof_invweight0[servo.dof], force = gain * m.actuator_gear[6 * a];
      const double most = std::abs(force) * std::max(-servo.low, servo.high) / kFullTorqueAt, step = m.opt.timestep;
      const double wanted = m.actuator_ctrllimited[a] ? most : inertia * 60 * 60;
      const double stiffness = std::min(wanted, 0.1 * inertia / (step * step));
      if (!m.actuator_ctrllimited[a]) servo.low = -mjMAXVAL, servo.high = mjMAXVAL;
      servo.stiffness = stiffness / force;
      servo.damping = std::min(kDampingTime * stiffness, 0.3 * inertia / step) / force;
      servo.target = d.qpos[servo.qpos], servo.noise = kNoise;
    }
  }
  return servos;
}

}  // namespace drl

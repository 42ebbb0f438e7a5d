// The quantities that tasks read, derived from a stage: positions of bodies, geoms and sites; motion of bodies; forces;
// motion sensors. Quantities that depend on a centre of mass use each environment's own parameters. Call
// derive_frames() first, since points are computed from frames.
#pragma once

#include "drl/physics/distance_sensors.hpp"
#include "drl/physics/range_finders.hpp"
#include "drl/physics/work.hpp"

namespace drl::inline DRL_ISA::physics {

template <class P>
DRL_HD void derive_frames(const typename P::Stage& s, typename P::Derived& derived) {
  if constexpr (P::kParameters > 0)
    P::derive_frames(s.qpos, s.parameters, derived);
  else
    P::derive_frames(s.qpos, derived);
}
// True if environments change the places of sites.
template <class P>
constexpr bool moves_sites() {
  return requires { P::kMovesSites; };
}
template <class P>
DRL_HD void derive_sites([[maybe_unused]] const typename P::Stage& s, typename P::Derived& derived) {
  if constexpr (moves_sites<P>())
    P::derive_sites(s.parameters, derived);
  else
    P::derive_sites(derived);
}
template <class P>
DRL_HD void derive_centers(const typename P::Stage& s, typename P::Derived& derived) {
  if constexpr (P::kParameters > 0)
    P::derive_centers(s.qpos, s.parameters, derived);
  else
    P::derive_centers(s.qpos, derived);
}
template <class P>
DRL_HD void derive_motion(const typename P::Stage& s, typename P::Derived& derived) {
  if constexpr (P::kParameters > 0)
    P::derive_motion(s.qpos, s.qvel, s.parameters, derived);
  else
    P::derive_motion(s.qpos, s.qvel, derived);
}
template <class P>
DRL_HD void derive_forces(const typename P::Stage& s, const typename P::Forces& forces, typename P::Derived& derived) {
  if constexpr (P::kParameters > 0 && count_equality_rows<P>() > 0)
    P::derive_forces(s.qpos, forces.wrench, forces.limit, s.parameters, derived);
  else if constexpr (count_equality_rows<P>() > 0)
    P::derive_forces(s.qpos, forces.wrench, forces.limit, derived);
  else if constexpr (P::kParameters > 0)
    P::derive_forces(s.qpos, forces.wrench, s.parameters, derived);
  else
    P::derive_forces(s.qpos, forces.wrench, derived);
}
// True if the stage keeps the values of motion sensors: with Runge-Kutta, MuJoCo's sensors show the first stage of a
// step.
template <class P>
constexpr bool kKeepsSensors = P::kRungeKutta&& P::kSensorNumbers > 0;
// True if a sensor shows the position or velocity of a joint, ball, tendon or actuator.
template <class P>
constexpr bool senses_lengths() {
  return requires { P::kSensesLengths; };
}
// True if a sensor shows the force of actuators, or an acceleration.
template <class P>
constexpr bool senses_actuators() {
  return requires { P::kSensesActuators; };
}
template <class P>
constexpr bool senses_accelerations() {
  return requires { P::kSensesAccelerations; };
}
// True if a sensor shows the limit of a joint or tendon (apart from its force), an energy, or the time.
template <class P>
constexpr bool senses_limits() {
  return requires { P::kSensesLimits; };
}
template <class P>
constexpr bool senses_energies() {
  return requires { P::kSensesEnergies; };
}
// True if sensors show what is known only after the stage's solution, apart from contacts.
template <class P>
constexpr bool senses_solution() {
  return senses_accelerations<P>() || (senses_actuators<P>() && count_adhesions<P>() > 0);
}
template <class P>
DRL_HD void derive_actuators(const typename P::Stage& s, typename P::Derived& derived) {
  if constexpr (count_activations<P>() > 0 && P::kParameters > 0)
    P::derive_actuators(s.qpos, s.qvel, s.ctrl, s.act, s.parameters, derived);
  else if constexpr (P::kParameters > 0)
    P::derive_actuators(s.qpos, s.qvel, s.ctrl, s.parameters, derived);
  else if constexpr (count_activations<P>() > 0)
    P::derive_actuators(s.qpos, s.qvel, s.ctrl, s.act, derived);
  else
    P::derive_actuators(s.qpos, s.qvel, s.ctrl, derived);
  if constexpr (count_adhesions<P>() > 0)
    for (int i = 0; i < P::nv; ++i) derived.qfrc_actuator[i] = derived.qfrc_actuator[i] + s.adhesion[i];
}
template <class P, class To>
DRL_HD void derive_energies(const typename P::Stage& stage, const typename P::Derived& derived, To& to) {
  constexpr bool kIsKept = !std::is_same_v<To, typename P::Derived>;
  if constexpr (P::kParameters > 0 && kIsKept)
    P::derive_energies(stage.qpos, stage.qvel, stage.parameters, derived, to);
  else if constexpr (P::kParameters > 0)
    P::derive_energies(stage.qpos, stage.qvel, stage.parameters, to);
  else if constexpr (kIsKept)
    P::derive_energies(stage.qpos, stage.qvel, derived, to);
  else
    P::derive_energies(stage.qpos, stage.qvel, to);
}
// Writes the motion sensors of a stage to `to`, after derive_frames(), derive_centers() and derive_motion().
template <class P, class To>
DRL_HD void derive_sensors_to(const typename P::Stage& stage, typename P::Derived& derived, To& to) {
  if constexpr (senses_actuators<P>()) derive_actuators<P>(stage, derived);
  if constexpr (std::is_same_v<To, typename P::Derived> && moves_sites<P>())
    P::derive_sensors(stage.parameters, to);
  else if constexpr (std::is_same_v<To, typename P::Derived>)
    P::derive_sensors(to);
  else if constexpr (moves_sites<P>())
    P::derive_sensors(stage.parameters, derived, to);
  else
    P::derive_sensors(derived, to);
  if constexpr (senses_lengths<P>()) P::derive_lengths(stage.qpos, stage.qvel, to);
  if constexpr (senses_accelerations<P>() && moves_sites<P>())
    P::derive_accelerations(stage.qpos, stage.qvel, stage.qacc, stage.parameters, to);
  else if constexpr (senses_accelerations<P>())
    P::derive_accelerations(stage.qpos, stage.qvel, stage.qacc, to);
  if constexpr (senses_limits<P>() && P::kParameters > 0)
    P::derive_limits(stage.qpos, stage.qvel, stage.parameters, to);
  else if constexpr (senses_limits<P>())
    P::derive_limits(stage.qpos, stage.qvel, to);
  if constexpr (senses_energies<P>()) derive_energies<P>(stage, derived, to);
  if constexpr (senses_time<P>()) P::derive_time(stage.time, to);
  if constexpr (count_range_finders<P>() > 0) find_ranges<P>(stage, derived, to);
  if constexpr (count_distance_sensors<P>() > 0) find_distance_sensors<P>(stage, derived, to);
}
// Computes the motion sensors. Call it after derive_frames(), derive_centers() and derive_motion().
template <class P>
DRL_HD void derive_sensors([[maybe_unused]] const typename P::Stage& stage,
                           [[maybe_unused]] typename P::Derived& derived) {
  if constexpr (P::kSensorNumbers > 0 && !kKeepsSensors<P>) derive_sensors_to<P>(stage, derived, derived);
}
// Stores the motion sensors in the stage, if it keeps them.
template <class P>
DRL_HD void keep_sensors([[maybe_unused]] typename P::Stage& stage) {
  if constexpr (kKeepsSensors<P>) {
    typename P::Derived derived;
    derive_frames<P>(stage, derived), derive_centers<P>(stage, derived), derive_motion<P>(stage, derived);
    derive_sensors_to<P>(stage, derived, stage.sensed);
  }
}
// Computes all quantities.
template <class P>
DRL_HD void derive_all(const typename P::Stage& stage, const typename P::Forces& forces, typename P::Derived& derived) {
  derive_frames<P>(stage, derived), derive_centers<P>(stage, derived);
  P::derive_geoms(derived), derive_sites<P>(stage, derived);
  derive_motion<P>(stage, derived);
  derive_actuators<P>(stage, derived);
  derive_forces<P>(stage, forces, derived);
  P::derive_constraints(stage.qpos, forces.wrench, forces.limit, derived);
  derive_sensors<P>(stage, derived);
}

}  // namespace drl::inline DRL_ISA::physics

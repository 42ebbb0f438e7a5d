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
  P::derive_frames(s.qpos, s.parameters, derived);
}
template <class P>
DRL_HD void derive_centers(const typename P::Stage& s, typename P::Derived& derived) {
  P::derive_centers(s.qpos, s.parameters, derived);
}
template <class P>
DRL_HD void derive_motion(const typename P::Stage& s, typename P::Derived& derived) {
  P::derive_motion(s.qpos, s.qvel, s.parameters, derived);
}
template <class P>
DRL_HD void derive_forces(const typename P::Stage& s, const typename P::Forces& forces, typename P::Derived& derived) {
  P::derive_forces(s.qpos, s.qvel, s.qacc, s.ctrl, s.act, forces.wrench, forces.limit, s.parameters, derived);
}
// True if the stage keeps the values of motion sensors: with Runge-Kutta, MuJoCo's sensors show the first stage of a
// step.
template <class P>
constexpr bool kKeepsSensors = P::kRungeKutta&& P::kSensorNumbers > 0;
// True if sensors show what is known only after the stage's solution, apart from contacts.
template <class P>
constexpr bool senses_solution() {
  return P::kSensesAccelerations || (P::kSensesActuators && P::kAdhesions > 0);
}
template <class P>
DRL_HD void derive_actuators(const typename P::Stage& s, typename P::Derived& derived) {
  P::derive_actuators(s.qpos, s.qvel, s.ctrl, s.act, s.parameters, derived);
  if constexpr (P::kAdhesions > 0)
    for (int i = 0; i < P::nv; ++i) derived.qfrc_actuator[i] = derived.qfrc_actuator[i] + s.adhesion[i];
}
// Writes the motion sensors of a stage to `to`, after derive_frames(), derive_centers() and derive_motion().
template <class P, class To>
DRL_HD void derive_sensors_to(const typename P::Stage& stage, typename P::Derived& derived, To& to) {
  if constexpr (P::kSensesActuators) derive_actuators<P>(stage, derived);
  P::derive_sensors(stage.parameters, derived, to);
  if constexpr (P::kSensesLengths) P::derive_lengths(stage.qpos, stage.qvel, to);
  if constexpr (P::kSensesAccelerations)
    P::derive_accelerations(stage.qpos, stage.qvel, stage.qacc, stage.parameters, to);
  if constexpr (P::kSensesLimits) P::derive_limits(stage.qpos, stage.qvel, stage.parameters, to);
  if constexpr (P::kSensesEnergies) P::derive_energies(stage.qpos, stage.qvel, stage.parameters, derived, to);
  if constexpr (P::kSensesTime) P::derive_time(stage.time, to);
  if constexpr (P::kRangeFinders > 0) find_ranges<P>(stage, derived, to);
  if constexpr (P::kDistanceSensors > 0) find_distance_sensors<P>(stage, derived, to);
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
  P::derive_geoms(derived), P::derive_sites(stage.parameters, derived);
  derive_motion<P>(stage, derived);
  derive_actuators<P>(stage, derived);
  derive_forces<P>(stage, forces, derived);
  P::derive_constraints(stage.qpos, forces.wrench, forces.limit, derived);
  derive_sensors<P>(stage, derived);
}

}  // namespace drl::inline DRL_ISA::physics

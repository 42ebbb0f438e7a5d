// What tasks read of a stage: where bodies, geoms and sites are; how bodies move; forces; sensors of motion. What a
// centre of mass matters to depends on those that environments shift. Points are found from frames, which are seen
// first.
#pragma once

#include "drl/physics_work.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

template <class P>
DRL_HD void see_frames(const typename P::Stage& s, typename P::Seen& seen) {
  if constexpr (P::kParameters > 0)
    P::see_frames(s.qpos, s.own, seen);
  else
    P::see_frames(s.qpos, seen);
}
template <class P>
DRL_HD void see_centers(const typename P::Stage& s, typename P::Seen& seen) {
  if constexpr (P::kParameters > 0)
    P::see_centers(s.qpos, s.own, seen);
  else
    P::see_centers(s.qpos, seen);
}
template <class P>
DRL_HD void see_motion(const typename P::Stage& s, typename P::Seen& seen) {
  if constexpr (P::kParameters > 0)
    P::see_motion(s.qpos, s.qvel, s.own, seen);
  else
    P::see_motion(s.qpos, s.qvel, seen);
}
template <class P>
DRL_HD void see_forces(const typename P::Stage& s, const typename P::Forces& forces, typename P::Seen& seen) {
  if constexpr (P::kParameters > 0)
    P::see_forces(s.qpos, forces.wrench, s.own, seen);
  else
    P::see_forces(s.qpos, forces.wrench, seen);
}
// Whether the stage itself has the numbers of sensors of motion: MuJoCo's are of the first stage of a step.
template <class P>
constexpr bool kKeepsSensors = P::kRungeKutta&& P::kSensorNumbers > 0;
// Of sensors of motion, in `seen` behind frames, centres and motion.
template <class P>
DRL_HD void see_sensors([[maybe_unused]] typename P::Seen& seen) {
  if constexpr (P::kSensorNumbers > 0 && !kKeepsSensors<P>) P::see_sensors(seen);
}
// Into the stage, if it keeps them.
template <class P>
DRL_HD void keep_sensors([[maybe_unused]] typename P::Stage& stage) {
  if constexpr (kKeepsSensors<P>) {
    typename P::Seen seen;
    see_frames<P>(stage, seen), see_centers<P>(stage, seen), see_motion<P>(stage, seen);
    P::see_sensors(seen, stage.sensed);
  }
}
// All of it.
template <class P>
DRL_HD void see(const typename P::Stage& stage, const typename P::Forces& forces, typename P::Seen& seen) {
  see_frames<P>(stage, seen), see_centers<P>(stage, seen);
  P::see_points(seen);
  see_motion<P>(stage, seen);
  P::see_actuators(stage.qpos, stage.qvel, stage.ctrl, seen);
  see_forces<P>(stage, forces, seen);
  P::see_constraints(stage.qpos, forces.wrench, forces.limit, seen);
  see_sensors<P>(seen);
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

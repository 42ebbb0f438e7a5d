// Steps of robots whose contacts are too stiff for float: lanes of float compute them in double, one half of the lanes
// after the other, because a register holds half as many doubles. A GPU thread, with one lane, uses double.
//
// Such a robot's header sets Sizes::kWide (src/physics/stiffness.hpp). The digits are lost where the solver adds
// J^T W J of stiff rows to M; what these are computed from may well be in float. Refining a solution with residuals in
// double converges too slowly, and the forces from which it chooses the active rows would still be wrong.
#pragma once

#include "drl/physics/work.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns whether this robot's lanes are those of float, whose steps are computed in double.
template <class P>
constexpr bool is_halved() {
  return P::kWide && !kIsDouble<typename P::Number>;
}
// Converts numbers and arrays between lanes of float and the half of them that begins at lane `first`.
struct HalfOfLanes {
  int first;
  template <class F, class D>
  DRL_HD void widen(const F& from, D& to) const {
    to = wide_half(from, first);
  }
  template <class F, class D, int n>
  DRL_HD void widen(const F (&from)[n], D (&to)[n]) const {
    for (int k = 0; k < n; ++k) widen(from[k], to[k]);
  }
  template <class F, class D>
  DRL_HD void narrow(F& to, const D& from) const {
    set_half(to, first, from);
  }
  template <class F, class D, int n>
  DRL_HD void narrow(F (&to)[n], const D (&from)[n]) const {
    for (int k = 0; k < n; ++k) narrow(to[k], from[k]);
  }
};
template <class T>
struct Type {
  using type = T;
};
// Calls body(Type<robot in double>, state, stage, work) for each half of the lanes, with copies of its state and stage
// that replace them afterwards. Copies forces and contact sensors if has_forces.
template <class P, class Body>
DRL_HD void each_half(typename P::State& state, typename P::Stage& stage, typename P::Work& w, bool has_forces,
                      const Body& body) {
  using F = typename P::Number;
  using Half = typename P::template With<HalfWide<F>>;
  constexpr int kWidth = kLanesOf<HalfWide<F>>;
  for (int h = 0; kWidth * h < kLanesOf<F>; ++h) {
    const HalfOfLanes lanes{kWidth * h};
    typename Half::State of_state;
    typename Half::Stage of_stage;
    lanes.widen(state.qpos, of_state.qpos), lanes.widen(state.qvel, of_state.qvel);
    lanes.widen(state.warm_start, of_state.warm_start), lanes.widen(state.time, of_state.time);
    lanes.widen(stage.qpos, of_stage.qpos), lanes.widen(stage.qvel, of_stage.qvel);
    lanes.widen(stage.ctrl, of_stage.ctrl), lanes.widen(stage.unsolved, of_stage.unsolved);
    if constexpr (P::kActivations > 0) {
      lanes.widen(state.act, of_state.act), lanes.widen(stage.act, of_stage.act);
    }
    if constexpr (P::kSensesTime) lanes.widen(stage.time, of_stage.time);
    if constexpr (P::kParameters > 0) lanes.widen(stage.parameters, of_stage.parameters);
    if constexpr (P::kHeightFields > 0) of_stage.height_maps = stage.height_maps;
    body(Type<Half>(), of_state, of_stage, w.half[h]);
    lanes.narrow(state.qpos, of_state.qpos), lanes.narrow(state.qvel, of_state.qvel);
    lanes.narrow(state.warm_start, of_state.warm_start), lanes.narrow(state.time, of_state.time);
    lanes.narrow(stage.qpos, of_stage.qpos), lanes.narrow(stage.qvel, of_stage.qvel);
    lanes.narrow(stage.qacc, of_stage.qacc), lanes.narrow(stage.unsolved, of_stage.unsolved);
    if constexpr (P::kActivations > 0) {
      lanes.narrow(state.act, of_state.act), lanes.narrow(stage.act, of_stage.act);
    }
    if constexpr (P::kAdhesions > 0) lanes.narrow(stage.adhesion, of_stage.adhesion);
    if (!has_forces) continue;
    if constexpr (requires { stage.sensed; }) lanes.narrow(stage.sensed, of_stage.sensed);
    lanes.narrow(w.forces.wrench, w.half[h].forces.wrench), lanes.narrow(w.forces.limit, w.half[h].forces.limit);
  }
}

}  // namespace drl::inline DRL_ISA::physics

// The physics that all robots in lanes share: the data that their functions exchange (drl/physics/work.hpp), the solver
// (drl/physics/solver.hpp), the quantities that tasks read (drl/physics/derive.hpp) and, in this file, forces and
// steps. A header that drl_robot writes adds the functions of one model:
//
//   using P = drl::physics::half_cheetah_robot::Physics<F>;
//   P::State state;                            all that the next step depends on: qpos, qvel, warm_start, time, act
//   P::Stage last;
//   P::Forces forces = drl::physics::step<P>(state, ctrl, last);
//   drl::physics::derive_all<P>(last, forces, derived);   the quantities that a task reads, with MuJoCo's names
//
// A stage is one evaluation of the forward dynamics: a step has one with Euler's method and four with Runge-Kutta. All
// numbers are those of MuJoCo (mujoco.readthedocs.io, "Computation"), except that Newton's method always solves limits
// and contacts to convergence, whatever number of iterations the model asks for. A lane's results depend only on that
// lane's inputs.
//
// If a robot's contacts are too stiff for float (Sizes::kWide, src/physics/stiffness.hpp), lanes of float compute its
// steps in double, one half of the lanes after the other. Its states and derived quantities stay in float.
#pragma once

#include "drl/physics/contact_sensors.hpp"
#include "drl/physics/derive.hpp"
#include "drl/physics/halves.hpp"
#include "drl/physics/model_constants.hpp"
#include "drl/physics/noslip.hpp"
#include "drl/physics/rays.hpp"
#include "drl/physics/sizes.hpp"
#include "drl/physics/solver.hpp"
#include "drl/physics/tree_frames.hpp"
#include "drl/physics/trees.hpp"
#include "drl/physics/wraps.hpp"

namespace drl::inline DRL_ISA::physics {

// The arguments of a robot's function that computes in double: half of the lanes, from `first` on.
template <class F>
struct WideHalf {
  const F* from;
  int first;
  DRL_HD HalfWide<F> operator[](int k) const { return wide_half(from[k], first); }
};
template <class P>
struct WideDistances {
  using F = typename P::Number;
  typename P::Work& w;
  int first;
  struct Place {
    F& distance;
    int first;
    DRL_HD void operator=(HalfWide<F> x) const { set_half(distance, first, x); }
  };
  DRL_HD Place operator[](int c) const { return {w.contact[c].touch.distance, first}; }
};
template <class P>
struct Distances {
  typename P::Work& w;
  DRL_HD typename P::Number& operator[](int c) const { return w.contact[c].touch.distance; }
};
// Computes the distances from the floor, in double. In float, a foot's distance would be wrong by 2e-8 m because of the
// rotations that lead to it. On a stiff floor, this would cause three times as large an error in a light leg's
// acceleration as everything else.
template <class P>
DRL_HD_CALLED void find_distances(const typename P::Number* qpos, typename P::Work& w) {
  using F = typename P::Number;
  const F* parameters = parameters_of<P>(w);
  if constexpr (kIsDouble<F>)
    P::distances(qpos, parameters, Distances<P>{w});
  else
    for (int first = 0; first < kLanesOf<F>; first += kLanesOf<HalfWide<F>>)
      P::template With<HalfWide<F>>::distances(WideHalf<F>{qpos, first}, WideHalf<F>{parameters, first},
                                               WideDistances<P>{w, first});
}

// Adds the forces of elliptic cones.
template <class P>
DRL_HD void find_cone_forces(typename P::Work& w) {
  for (int t = 0; t < w.touches; ++t) {
    const int c = w.touching[t];
    const ConePoint& point = P::cone(c);
    w.cone[c].add_wrench(point.dimensions, w.forces.wrench[point.frame]);
  }
}

// Computes the forces of limits, dry friction and floor contacts in the solution that the work holds, and stores them
// in the work.
template <class P>
DRL_HD_CALLED void find_floor_forces(typename P::Work& w) {
  using F = typename P::Number;
  DRL_ROLLED
  for (auto& wrench : w.forces.wrench)
    for (F& x : wrench) x = F(0);
  DRL_ROLLED
  for (F& x : w.forces.limit) x = F(0);
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      F push[P::kEdges];
      find_push<P>(w, c, push);
      const ContactPoint& point = P::point(c);
      P::add_wrench(point, w.contact[c].row, push, w.forces.wrench[point.frame]);
    }
  each_ground_contact<P>(w, [&](const ContactPair& pair, const auto& contact)
                                DRL_LAMBDA { contact.template add_wrench<P>(w, pair, w.forces.wrench); });
  if constexpr (P::kCones > 0) find_cone_forces<P>(w);
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int l = 0; l < P::kLimits; ++l) {
      const F y = w.next_y[P::Work::kContactResiduals + l];
      w.forces.limit[l] = -(w.limit_sign[l] * active_weight(w.weight[P::kContacts + l], y) * y);
    }
  }
  if constexpr (P::kFrictions > 0)
    for (int f = 0; f < P::kFrictions; ++f) w.forces.limit[P::kLimits + f] = w.friction[f].push(friction_of<P>(f, w));
  if constexpr (P::kEqualityRows > 0)
    for (int r = 0; r < P::kEqualityRows; ++r) w.forces.limit[P::kLimits + P::kFrictions + r] = w.equality[r].push;
}
// Adds the forces of pairs. Also sets the sensors of contacts, loads and limits if this stage is the one that they
// show.
template <class P, bool kIsShown = true>
DRL_HD void find_forces(typename P::Work& w, [[maybe_unused]] typename P::Stage& stage) {
  find_floor_forces<P>(w);
  if constexpr (P::kPairs > 0) add_pair_wrenches<P>(w, w.forces.wrench);
  if constexpr (kIsShown && P::kContactSensors + P::kTouchSensors > 0) find_contact_sensors<P>(w, stage);
  if constexpr (kIsShown && P::kSensesLoads)
    P::find_loads(stage.qpos, stage.qvel, stage.qacc, stage.ctrl, stage.act, w.forces.wrench, w.forces.limit,
                  stage.parameters, stage.sensed);
  if constexpr (kIsShown && P::kSensesLimitForces) P::find_limit_forces(w.forces.limit, stage.sensed);
}

// Reduces the rounding error of a solution in these lanes. The solver computes all accelerations with rounded factors;
// this step solves once more for the forces that are still out of balance, with the last iteration's factors.
template <class P>
DRL_HD_CALLED void refine(typename P::Work& w, typename P::Stage& stage, Mask<typename P::Number> lanes) {
  using F = typename P::Number;
  F change[P::nv];
  find_floor_forces<P>(w);
  P::unbalanced(w, stage.qacc, change);
  subtract_pairs<P>(w, change);
  ChainMatrix(w.coupled_chains, w.matrix + 0, w.inverse + 0).solve(change);
  DRL_ROLLED
  for (int i = 0; i < P::nv; ++i) stage.qacc[i] = stage.qacc[i] + math::select(lanes, change[i], F(0));
}

// Computes the acceleration from a stage's position, velocity and controls, starting at a warm start. `damped` [nv] is
// the acceleration of Euler's step, if implicit damping makes it differ.
template <class P>
DRL_HD_CALLED void forward(typename P::Stage& stage, const typename P::Number* warm_start, typename P::Work& w,
                           typename P::Number* damped) {
  if constexpr (P::kParameters > 0) w.parameters = stage.parameters;
  if constexpr (P::kHeightFields > 0) w.fields.height_maps = stage.height_maps;
  P::smooth(stage.qpos, stage.qvel, stage.ctrl, stage.act, stage.parameters, w);
  place_still_geoms<P>(w);
  if constexpr (P::kExactDistances) find_distances<P>(stage.qpos, w);
  P::into_solver(w, warm_start, stage.qacc);
  [[maybe_unused]] const typename P::Number unsolved = stage.unsolved;
  solve<P>(w, stage.qvel, stage.qacc, stage.unsolved);
  if constexpr (P::kExactDistances && P::kPairs > 0) {
    // Stiff contacts count as not solved.
    refine<P>(w, stage, P::kStiffer ? unsolved == unsolved : stage.unsolved == unsolved);
  }
  if constexpr (P::kEqualityRows > 0) P::equality_forces(w, stage.qacc);
  if constexpr (P::kNoslipIterations > 0) noslip<P>(w, stage.qacc);
  if constexpr (P::kImplicitDamping) P::damp(w, stage.qacc, damped);
  if constexpr (P::kAdhesions > 0) P::out_of_solver(w, w.adhesion, stage.adhesion);
  if constexpr (P::kFreeTurn > 0) {
    P::out_of_solver(w, stage.qacc, stage.qacc);
    if constexpr (P::kImplicitDamping) P::out_of_solver(w, damped, damped);
  }
}

template <class P>
DRL_HD void begin_stage(const typename P::State& state, const typename P::Number* ctrl, typename P::Stage& stage) {
  DRL_ROLLED
  for (int k = 0; k < P::nq; ++k) stage.qpos[k] = state.qpos[k];
  DRL_ROLLED
  for (int k = 0; k < P::nv; ++k) stage.qvel[k] = state.qvel[k];
  DRL_ROLLED
  for (int k = 0; k < P::nu; ++k) stage.ctrl[k] = ctrl[k];
  if constexpr (P::kActivations > 0)
    for (int k = 0; k < P::kActivations; ++k) stage.act[k] = state.act[k];
  if constexpr (P::kSensesTime) stage.time = state.time;
  stage.unsolved = typename P::Number(0);
}

// mj_step with Euler's method: updates the velocity first, then the position with the new velocity.
template <class P>
DRL_HD void step_euler(typename P::State& state, typename P::Stage& stage, typename P::Work& w, bool wants_forces) {
  using F = typename P::Number;
  F* damped = state.warm_start;  // its old value has been read by the time it is written
  forward<P>(stage, state.warm_start, w, damped);
  const F* qacc = P::kImplicitDamping ? damped : stage.qacc;
  if constexpr (P::kActivations > 0) {
    F rate[P::kActivations];
    P::rates(stage.ctrl, stage.act, rate);
    P::activate(stage.act, rate, state.act);
  }
  DRL_ROLLED
  for (int k = 0; k < P::nv; ++k) {
    state.qvel[k] = math::fma(F(P::timestep), qacc[k], state.qvel[k]);
    state.warm_start[k] = stage.qacc[k];
  }
  P::integrate(stage.qpos, state.qvel, F(P::timestep), state.qpos);
  if (wants_forces) find_forces<P, !kKeepsSensors<P>>(w, stage);
}

// mj_step with the classical Runge-Kutta method of order 4. The solver of each stage starts from the stage before.
template <class P>
DRL_HD void step_runge_kutta(typename P::State& state, typename P::Stage& stage, typename P::Work& w,
                             bool wants_forces) {
  using F = typename P::Number;
  constexpr double kNext[] = {0.5 * P::timestep, 0.5 * P::timestep, P::timestep};
  constexpr double kShare[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  F velocity[P::nv], acceleration[P::nv];                  // weighted means of the stages
  [[maybe_unused]] F turned[P::kTurnsStages ? P::nv : 1];  // a stage's velocity, along its rotation since the start
  DRL_ROLLED
  for (int k = 0; k < P::nv; ++k) velocity[k] = acceleration[k] = F(0);
  [[maybe_unused]] F rate[at_least_one(P::kActivations)];  // also a weighted mean
  for (F& x : rate) x = F(0);
  DRL_ROLLED
  for (int s = 0; s < 4; ++s) {
    forward<P>(stage, state.warm_start, w, nullptr);
    if constexpr (kKeepsSensors<P>)
      if (s == 0 && wants_forces) find_forces<P>(w, stage), keep_sensors<P>(stage);
    const F* along = stage.qvel;
    if constexpr (P::kTurnsStages) {
      if (s == 0)
        for (int k = 0; k < P::nv; ++k) turned[k] = stage.qvel[k];
      else
        P::move_stage(stage.qvel, turned, F(kNext[s - 1]), turned);
      along = turned;
    }
    DRL_ROLLED
    for (int k = 0; k < P::nv; ++k) {
      velocity[k] = math::fma(F(kShare[s]), along[k], velocity[k]);
      acceleration[k] = math::fma(F(kShare[s]), stage.qacc[k], acceleration[k]);
      state.warm_start[k] = stage.qacc[k];
    }
    if constexpr (P::kActivations > 0) {
      F here[P::kActivations];
      P::rates(stage.ctrl, stage.act, here);
      for (int k = 0; k < P::kActivations; ++k) {
        rate[k] = math::fma(F(kShare[s]), here[k], rate[k]);
        if (s < 3) stage.act[k] = math::fma(F(kNext[s]), here[k], state.act[k]);
      }
    }
    if (s == 3) break;
    P::integrate(state.qpos, along, F(kNext[s]), stage.qpos);
    DRL_ROLLED
    for (int k = 0; k < P::nv; ++k) stage.qvel[k] = math::fma(F(kNext[s]), stage.qacc[k], state.qvel[k]);
  }
  if constexpr (P::kActivations > 0) P::activate(state.act, rate, state.act);
  F start[P::nq];
  DRL_ROLLED
  for (int k = 0; k < P::nq; ++k) start[k] = state.qpos[k];
  DRL_ROLLED
  for (int k = 0; k < P::nv; ++k) state.qvel[k] = math::fma(F(P::timestep), acceleration[k], state.qvel[k]);
  P::integrate(start, velocity, F(P::timestep), state.qpos);
  if (wants_forces) find_forces<P, !kKeepsSensors<P>>(w, stage);
  if constexpr (P::kKeepsMeanAcceleration)
    for (int k = 0; k < P::nv; ++k) stage.qacc[k] = acceleration[k];
}

// mj_step, computed in `w`. `last` becomes the stage that MuJoCo computes last, from which tasks derive other
// quantities. If wants_forces, `w` holds its forces. Sensors show the first stage.
template <class P>
DRL_HD_CALLED void step(typename P::State& state, const typename P::Number* ctrl, typename P::Stage& last,
                        typename P::Work& w, bool wants_forces = true) {
  begin_stage<P>(state, ctrl, last);
  if constexpr (is_halved<P>()) {
    each_half<P>(state, last, w, wants_forces,
                 [&](auto half, auto& of_state, auto& of_stage, auto& of_work) DRL_LAMBDA {
                   typename decltype(half)::type::Number controls[at_least_one(P::nu)];
                   for (int k = 0; k < P::nu; ++k) controls[k] = of_stage.ctrl[k];
                   step<typename decltype(half)::type>(of_state, controls, of_stage, of_work, wants_forces);
                 });
  } else {
    if constexpr (P::kRungeKutta)
      step_runge_kutta<P>(state, last, w, wants_forces);
    else
      step_euler<P>(state, last, w, wants_forces);
    state.time = state.time + typename P::Number(P::timestep);
  }
}
template <class P>
DRL_HD typename P::Forces step(typename P::State& state, const typename P::Number* ctrl, typename P::Stage& last) {
  static_assert(!P::Work::kHasColumns);
  typename P::Work w;
  step<P>(state, ctrl, last, w);
  return w.forces;
}

// Computes the accelerations, forces and sensors of a stage from its position, velocity and controls.
template <class P>
DRL_HD_CALLED void solve_stage(const typename P::State& state, typename P::Stage& stage, typename P::Work& w) {
  if constexpr (is_halved<P>()) {
    typename P::State same = state;
    each_half<P>(same, stage, w, true, [](auto half, auto& of_state, auto& of_stage, auto& of_work) DRL_LAMBDA {
      solve_stage<typename decltype(half)::type>(of_state, of_stage, of_work);
    });
  } else {
    typename P::Number damped[P::nv];
    forward<P>(stage, state.warm_start, w, damped);
    find_forces<P>(w, stage);
    keep_sensors<P>(stage);
  }
}
// mj_forward: computes the stage of a state without a step. Does not change the state's warm start.
template <class P>
DRL_HD typename P::Forces evaluate(const typename P::State& state, const typename P::Number* ctrl,
                                   typename P::Stage& stage) {
  static_assert(!P::Work::kHasColumns);
  typename P::Work w;
  begin_stage<P>(state, ctrl, stage);
  solve_stage<P>(state, stage, w);
  return w.forces;
}

// Sets the height fields to those of this process.
template <class P>
DRL_HD void begin_fields([[maybe_unused]] typename P::Stage& stage) {
  if constexpr (P::kHeightFields > 0) stage.height_maps = height_maps<P::kModelKey, P::kHeightFields>;
}
// Also sets the parameters to the values in the model's file.
template <class P>
DRL_HD void begin_parameters([[maybe_unused]] typename P::Stage& stage) {
  if constexpr (P::kParameters > 0) {
    DRL_ROLLED
    for (int k = 0; k < P::kParameters; ++k) stage.parameters[k] = typename P::Number(P::parameter(k / 3).start[k % 3]);
    DRL_ROLLED
    for (int k = 0; k < P::kConstants; ++k) stage.parameters[P::kParameters + k] = typename P::Number(1);
  }
  begin_fields<P>(stage);
}

}  // namespace drl::inline DRL_ISA::physics

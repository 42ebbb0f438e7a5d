// Dry friction of joints (MuJoCo, "Computation", friction loss): a constraint that drives the velocity of one degree of
// freedom to 0. It pushes with -weight * y for the residual y, up to a largest force. Its cost is the function of P. J.
// Huber (1964): quadratic while the joint sticks, linear while it slips.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl::inline DRL_ISA::physics {

struct DryFriction {
  int dof;              // index into qvel, or nv plus the index of a tendon with rows
  double weight, most;  // most: the largest force, N or N m
};

// Dry friction that differs between lanes. The functions below accept both types.
template <class F>
struct RandomisedFriction {
  int dof;
  F weight, most;
};

template <class F>
struct FrictionRow {
  F rest;          // residual at zero acceleration
  F y, next_y;     // residuals at the last and at the next accelerations
  F active, slip;  // at the last accelerations, the force is -(active y + slip)

  // Computes `active` and `slip` for the residual y: (weight, 0) while it sticks, (0, +-most) while it slips.
  template <class Friction>
  DRL_HD static void find_zone(const Friction& friction, F y, F& active, F& slip) {
    const F most = F(friction.most);
    const Mask<F> sticks = math::abs(F(friction.weight) * y) < most;
    active = math::select(sticks, F(friction.weight), F(0));
    slip = math::select(sticks, F(0), math::select(y < F(0), -most, most));
  }
  // Returns the lanes in which it has begun or ceased to slip, or slips the other way.
  template <class Friction>
  DRL_HD Mask<F> differs(const Friction& friction) const {
    F next_active, next_slip;
    find_zone(friction, next_y, next_active, next_slip);
    return (next_active != active) | (next_slip != slip);
  }
  DRL_HD void begin_solution() { y = next_y = active = slip = F(0); }
  template <class Friction>
  DRL_HD void take_next(const Friction& friction) {
    y = next_y, find_zone(friction, y, active, slip);
  }

  // Begins a line search from y to next_y: subtracts the slope at next_y from `slope`, and adds the curvature to
  // `start` (see search_line).
  DRL_HD void begin_line(F& slope, F& start) const {
    const F change = next_y - y;
    slope = math::fma(-change, math::fma(active, next_y, slip), slope);
    start = math::fma(active * change, change, start);
  }
  // Adds the first two derivatives of the cost at the point `at` of the line, from 0 to 1.
  template <class Friction>
  DRL_HD void add_slopes(const Friction& friction, F at, F& first, F& second) const {
    const F change = next_y - y, here = math::fma(at, change, y);
    F here_active, here_slip;
    find_zone(friction, here, here_active, here_slip);
    first = math::fma(change, math::fma(here_active, here, here_slip), first);
    second = math::fma(here_active * change, change, second);
  }
  // Moves next_y back to the point `at` of the line, in these lanes.
  DRL_HD void go_back(Mask<F> lanes, F at) { next_y = math::select(lanes, math::fma(at, next_y - y, y), next_y); }
  // Returns the force at next_y.
  template <class Friction>
  DRL_HD F push(const Friction& friction) const {
    F next_active, next_slip;
    find_zone(friction, next_y, next_active, next_slip);
    return -math::fma(next_active, next_y, next_slip);
  }
};

// Returns row `f` of a robot's dry friction, with the environment's own numbers if options may change them.
template <class P>
DRL_HD auto friction_of(int f, [[maybe_unused]] const typename P::Work& w) {
  if constexpr (P::kRandomised) {
    using F = typename P::Number;
    const DryFriction& friction = P::friction(f);
    const int factor = P::friction_factor(f);
    const F most = factor < 0 ? F(friction.most) : F(friction.most) * w.parameters[factor];
    const int ratio = P::friction_constant(f);
    return RandomisedFriction<F>{friction.dof,
                                 ratio < 0 ? F(friction.weight) : F(friction.weight) / w.parameters[ratio], most};
  } else {
    return P::friction(f);
  }
}

}  // namespace drl::inline DRL_ISA::physics

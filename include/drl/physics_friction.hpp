// Dry friction of joints (MuJoCo, "Computation", friction loss): a constraint that along a number of qvel wants no
// velocity, and pushes with -weight y of its residual y, but no harder than it can. Its cost is P. J. Huber's (1964):
// quadratic where it sticks, linear where it slips.
#pragma once

#include "drl/lanes.hpp"
#include "drl/math.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

struct DryFriction {
  int dof;              // number of qvel
  double weight, most;  // most: N or N m
};

// How many a robot has: the tables of those without do not say.
template <class Sizes>
constexpr int count_frictions() {
  if constexpr (requires { Sizes::kFrictions; })
    return Sizes::kFrictions;
  else
    return 0;
}

template <class F>
struct FrictionRow {
  F rest;          // residual at no acceleration
  F y, next_y;     // at the last accelerations, and at the next ones
  F active, slip;  // at the last ones it pushed with -(active y + slip)

  // The same of a residual: weight and 0 where it sticks, 0 and +-most where it slips.
  DRL_HD static void find_zone(const DryFriction& friction, F y, F& active, F& slip) {
    const F most = F(friction.most);
    const Mask<F> sticks = math::abs(F(friction.weight) * y) < most;
    active = math::select(sticks, F(friction.weight), F(0));
    slip = math::select(sticks, F(0), math::select(y < F(0), -most, most));
  }
  // True in the lanes where it is not what it was.
  DRL_HD Mask<F> differs(const DryFriction& friction) const {
    F next_active, next_slip;
    find_zone(friction, next_y, next_active, next_slip);
    return (next_active != active) | (next_slip != slip);
  }
  DRL_HD void begin_solution() { y = next_y = active = slip = F(0); }
  DRL_HD void take_next(const DryFriction& friction) { y = next_y, find_zone(friction, y, active, slip); }

  // Of a search on the line from y to next_y: to the slope of all else at its start, where that is known at its end,
  // and to the curvature there.
  DRL_HD void begin_line(F& slope, F& start) const {
    const F change = next_y - y;
    slope = math::fma(-change, math::fma(active, next_y, slip), slope);
    start = math::fma(active * change, change, start);
  }
  // Adds the first two derivatives of the cost at a place of it.
  DRL_HD void add_slopes(const DryFriction& friction, F at, F& first, F& second) const {
    const F change = next_y - y, here = math::fma(at, change, y);
    F here_active, here_slip;
    find_zone(friction, here, here_active, here_slip);
    first = math::fma(change, math::fma(here_active, here, here_slip), first);
    second = math::fma(here_active * change, change, second);
  }
  // Goes back on the line, in these lanes.
  DRL_HD void go_back(Mask<F> lanes, F at) { next_y = math::select(lanes, math::fma(at, next_y - y, y), next_y); }
  // What pushes at next_y.
  DRL_HD F push(const DryFriction& friction) const {
    F next_active, next_slip;
    find_zone(friction, next_y, next_active, next_slip);
    return -math::fma(next_active, next_y, next_slip);
  }
};

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

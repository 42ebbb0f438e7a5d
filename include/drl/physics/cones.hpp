// Contacts with friction in elliptic cones (MuJoCo, "Computation", friction cones). A contact's residuals are scaled so
// that its cost depends on two lengths only: N along the normal, and T across it, which combines sliding, torsional and
// rolling friction. mu is the regularised friction (mu^2 = sliding friction^2 / impratio). The cost is half the
// hardness times the squared distance to the cone N >= mu T. This squared distance is zero inside the cone, N^2 + T^2
// in the bottom zone -N >= T / mu, and (mu T - N)^2 / (1 + mu^2) between the two. The cost is homogeneous of degree 2:
// its gradient is its second derivative times the residuals, so a contact pushes with -(stiffness times residuals), as
// rows do.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/physics/parameter.hpp"

namespace drl::inline DRL_ISA::physics {

constexpr int kResiduals = 6;  // of a contact: 1 normal, 2 sliding, 1 torsional, 2 rolling

// A point of the robot that may touch the floor: the centre of a sphere, or a corner (with radius 0).
struct ConePoint {
  int body, frame;  // indices among the bodies and frames that contacts use
  double radius, height, margin, weight;
  int power;
  double stiffness, damping, least, most, width, midpoint;  // solver parameters
  int dimensions;                                           // 1, 3, 4 or 6 residuals
  double friction[3];                                       // sliding, torsional, rolling
  int varies[2] = {-1, -1};                                 // parameters that raise the friction, or -1
};

// Three values of the model that may differ between environments, and what they are in its file.
struct Parameter {
  ModelParameter::Kind kind;
  int index;
  double start[3];
};

// An actuator that a network can drive: the place of its joint in qpos and qvel.
struct Motor {
  int actuator, qpos, qvel;
  double gear;
};

// The second derivative of a contact's cost with respect to its residuals: the one along the normal, and those across
// it, whose direction is the unit vector t. It is the symmetric matrix
//   normal     cross t^T
//   cross t    across I + along t t^T
template <class F>
struct Stiffness {
  F normal, cross, along, across;
  F both;  // along + across, without its rounding error
  F t[kResiduals - 1];

  // Computes stiffness times residuals.
  DRL_HD_CALLED_ON_GPU void times(const F* u, int residuals, F* push) const {
    F share = F(0);
    DRL_ROLLED
    for (int k = 1; k < residuals; ++k) share = math::fma(t[k - 1], u[k], share);
    push[0] = math::fma(normal, u[0], cross * share);
    const F turned = math::fma(both, share, cross * u[0]);
    DRL_ROLLED
    for (int k = 1; k < residuals; ++k)
      push[k] = math::fma(across, math::fma(-share, t[k - 1], u[k]), turned * t[k - 1]);
  }
};

template <class F>
struct Cone {
  F hardness, mu, friction[kResiduals - 1];
  F u[kResiduals], next_u[kResiduals];  // scaled residuals at the last and at the next accelerations
  Stiffness<F> now, next;

  // Sets mu and the coefficients; `regularised` is mu for a sliding friction of 1. Without friction, mu is 1 and the
  // residuals across the normal are 0.
  DRL_HD void set_friction(int dimensions, const F* coefficients, double regularised) {
    mu = dimensions == 1 ? F(1) : F(regularised) * coefficients[0];
    for (int k = 0; k < kResiduals - 1; ++k) friction[k] = k + 1 < dimensions ? coefficients[k] : F(0);
  }
  DRL_HD void set_weight(int, F weight) { hardness = weight / (mu * mu); }
  DRL_HD F scale(int k) const { return k == 0 ? mu : friction[k - 1]; }
  DRL_HD Mask<F> exists() const { return F(0) < hardness; }

  // Sets `whole` to the hardness if (N, T) is in the bottom zone, and `middle` to hardness / (1 + mu^2) if it is
  // between bottom and cone; otherwise to 0.
  DRL_HD void find_zone(F n, F size, F& whole, F& middle) const {
    const Mask<F> is_out = (mu * size <= n) & ((F(0) <= n) | (F(0) < size));
    const Mask<F> is_bottom = (math::fma(mu, n, size) <= F(0)) & !is_out;
    whole = math::select(is_bottom, hardness, F(0));
    middle = math::select(is_out | is_bottom, F(0), hardness / math::fma(mu, mu, F(1)));
  }
  // Begins a solution in which nothing pushes. u becomes that of the last solution in lanes where the contact was part
  // of it.
  DRL_HD void begin_solution(Mask<F> was_here) {
    now = {F(0), F(0), F(0), F(0), F(0), {F(0), F(0), F(0), F(0), F(0)}};
    for (int k = 0; k < kResiduals; ++k) u[k] = math::select(was_here, next_u[k], F(0));
    next = now;
    for (F& x : next_u) x = F(0);
  }
  // Sets next_u to u in lanes where u pushes, as the first guess of a solution.
  DRL_HD void reuse_last(int residuals, double) {
    F square = F(0), whole, middle;
    DRL_ROLLED
    for (int k = 1; k < residuals; ++k) square = math::fma(u[k], u[k], square);
    find_zone(u[0], math::sqrt(square), whole, middle);
    const Mask<F> pushes = F(0) < whole + middle;
    DRL_ROLLED
    for (int k = 0; k < residuals; ++k) next_u[k] = math::select(pushes, u[k], next_u[k]);
    find_next(residuals);
  }
  // Computes the stiffness at next_u.
  DRL_HD_CALLED_ON_GPU void find_next(int residuals) {
    F square = F(0);
    DRL_ROLLED
    for (int k = 1; k < residuals; ++k) square = math::fma(next_u[k], next_u[k], square);
    const F n = next_u[0], size = math::sqrt(square), inverse = F(1) / math::max(size, F(1e-30));
    F whole, middle;
    find_zone(n, size, whole, middle);
    next.normal = whole + middle, next.cross = -(mu * middle);
    next.across = math::fma(middle * mu, math::fma(mu, size, -n) * inverse, whole);
    next.both = math::fma(mu * mu, middle, whole), next.along = next.both - next.across;
    DRL_ROLLED
    for (int k = 1; k < residuals; ++k) next.t[k - 1] = next_u[k] * inverse;
  }
  // Adds the squared force at next_u to `size`, and the squared error of the force that the current stiffness predicts
  // to `error`.
  DRL_HD void compare(int residuals, F& size, F& error) const {
    F push[kResiduals], expected[kResiduals], own_size = F(0), own_error = F(0);
    next.times(next_u, residuals, push), now.times(next_u, residuals, expected);
    for (int k = 0; k < residuals; ++k) {
      const F off = push[k] - expected[k];
      own_size = math::fma(push[k], push[k], own_size), own_error = math::fma(off, off, own_error);
    }
    size = math::fma(mu * mu, own_size, size), error = math::fma(mu * mu, own_error, error);
  }
  // Makes the next residuals and stiffness the current ones; in the lanes `stays` the stiffness is kept.
  DRL_HD void take_next(int residuals, Mask<F> stays) {
    const auto take = [&](F& of_now, F of_next) DRL_LAMBDA { of_now = math::select(stays, of_now, of_next); };
    take(now.normal, next.normal), take(now.cross, next.cross), take(now.along, next.along);
    take(now.across, next.across), take(now.both, next.both);
    for (int k = 0; k < kResiduals - 1; ++k) take(now.t[k], next.t[k]);
    DRL_ROLLED
    for (int k = 0; k < residuals; ++k) u[k] = next_u[k];
  }

  // Computes the product of residuals and the change from `now` to `next`.
  DRL_HD void times_change(const F* residual, int residuals, F* push) const {
    F before[kResiduals];
    next.times(residual, residuals, push), now.times(residual, residuals, before);
    for (int k = 0; k < residuals; ++k) push[k] = push[k] - before[k];
  }

  // Begins a line search from u to next_u: subtracts the slope at next_u from `slope`, and adds the curvature to
  // `start`, both with the current stiffness (see search_line).
  DRL_HD void begin_line(int residuals, F& slope, F& start) const {
    F change[kResiduals], push[kResiduals], along_next = F(0), along_change = F(0);
    for (int k = 0; k < residuals; ++k) change[k] = next_u[k] - u[k];
    now.times(change, residuals, push);
    for (int k = 0; k < residuals; ++k) {
      along_next = math::fma(push[k], next_u[k], along_next);
      along_change = math::fma(push[k], change[k], along_change);
    }
    slope = slope - along_next, start = start + along_change;
  }
  // Adds the first two derivatives of the cost at the point `at` of the line, from 0 to 1.
  DRL_HD void add_slopes(int residuals, F at, F& first, F& second) const {
    F square = F(0), mixed = F(0), changes = F(0);
    DRL_ROLLED
    for (int k = 1; k < residuals; ++k) {
      const F change = next_u[k] - u[k], here = math::fma(at, change, u[k]);
      square = math::fma(here, here, square), mixed = math::fma(here, change, mixed);
      changes = math::fma(change, change, changes);
    }
    const F change = next_u[0] - u[0], n = math::fma(at, change, u[0]);
    const F size = math::sqrt(square), inverse = F(1) / math::max(size, F(1e-30));
    F whole, middle;
    find_zone(n, size, whole, middle);
    const F grows = mixed * inverse, bends = math::max(math::fma(-grows, grows, changes), F(0)) * inverse;
    const F off = math::fma(-mu, size, n), off_grows = math::fma(-mu, grows, change);
    first = math::fma(whole, math::fma(n, change, mixed), math::fma(middle * off, off_grows, first));
    const F turned = math::fma(off_grows, off_grows, -(mu * off) * bends);
    second = math::fma(whole, math::fma(change, change, changes), math::fma(middle, turned, second));
  }
  // Moves next_u back to the point `at` of the line, in these lanes.
  DRL_HD void go_back(int residuals, Mask<F> lanes, F at) {
    DRL_ROLLED
    for (int k = 0; k < residuals; ++k)
      next_u[k] = math::select(lanes, math::fma(at, next_u[k] - u[k], u[k]), next_u[k]);
    find_next(residuals);
  }
  // Computes the stiffness at next_u times next_u.
  DRL_HD void respond(int residuals, F* pushed) const { next.times(next_u, residuals, pushed); }
  // Computes the forces at next_u: along the normal and the tangents, and the torques about them.
  DRL_HD_CALLED_ON_GPU void push(int residuals, F* force) const {
    respond(residuals, force);
    for (int k = 0; k < residuals; ++k) force[k] = -(scale(k) * force[k]);
    for (int k = residuals; k < kResiduals; ++k) force[k] = F(0);
  }
};

// Returns the impedance d(x) of a constraint, which rises from `least` at x = 0 to `most` at the width. The power is 1
// or 2.
template <class F, class Point>
DRL_HD F impedance(const Point& point, int power, F x) {
  const F share = math::min(math::abs(x) * F(1 / point.width), F(1)), rest = F(1) - share;
  F rise = share;
  if (power == 2)
    rise = math::select(share < F(point.midpoint), share * share * F(1 / point.midpoint),
                        math::fma(rest * rest, F(-1 / (1 - point.midpoint)), F(1)));
  return math::fma(F(point.most - point.least), rise, F(point.least));
}

// Computes the friction of a contact in these environments: along two tangents, about the normal, about the tangents.
// `fixed` holds the coefficients of sliding, torsional and rolling friction.
template <class F>
DRL_HD void find_friction(const double* fixed, const int* varies, const F* parameters, F* friction) {
  for (int k = 0; k < kResiduals - 1; ++k) {
    const int kind = k < 2 ? 0 : k == 2 ? 1 : 2;
    friction[k] = F(fixed[kind]);
    for (int v = 0; v < 2; ++v)
      if (varies[v] >= 0) friction[k] = math::max(friction[k], parameters[varies[v] + kind]);
  }
}

// Returns the sliding friction of a pyramid in these environments.
template <class F>
DRL_HD F sliding_friction(double fixed, const int* varies, const F* parameters) {
  F friction = F(fixed);
  for (int v = 0; v < 2; ++v)
    if (varies[v] >= 0) friction = math::max(friction, parameters[varies[v]]);
  return friction;
}
// Returns the factor that friction adds to the weight of a pyramid's edges. Robots whose pyramids' friction does not
// vary have it in their tables.
template <class F>
DRL_HD F weight_of_friction(F friction) {
  const F square = friction * friction;
  return F(2) * square * (F(1) + square);
}

// A contact with the floor, with the normal z and the tangents x and y. `rest` holds the scaled residuals at zero
// acceleration.
template <class F>
struct FloorCone : Cone<F> {
  F point[3], rest[kResiduals];

  // Computes the scaled residuals of the point from a motion (angular, then linear velocity or acceleration of the
  // tree's origin).
  DRL_HD void along(const F* motion, int residuals, const F* start, F* u) const {
    const F x = math::fma(motion[1], point[2], math::fma(-motion[2], point[1], motion[3]));
    const F y = math::fma(motion[2], point[0], math::fma(-motion[0], point[2], motion[4]));
    const F z = math::fma(motion[0], point[1], math::fma(-motion[1], point[0], motion[5]));
    const F of[kResiduals] = {z, x, y, motion[2], motion[0], motion[1]};
    for (int k = 0; k < residuals; ++k) u[k] = math::fma(this->scale(k), of[k], start[k]);
  }

  template <class Touch>
  DRL_HD void begin(const ConePoint& at, const Touch& touch, const F* velocity, const F* parameters,
                    double regularised) {
    F friction[kResiduals - 1];
    find_friction(at.friction, at.varies, parameters, friction);
    this->set_friction(at.dimensions, friction, regularised);
    point[0] = touch.center_x, point[1] = touch.center_y;
    point[2] = touch.center_z - math::fma(F(0.5), touch.distance, F(at.radius));
    const F x = touch.distance - F(at.margin), d = impedance(at, at.power, x);
    const F weight = d / ((F(1) - d) * F(at.weight));
    this->hardness = math::select(x < F(0), weight / (this->mu * this->mu), F(0));
    const F none[kResiduals] = {F(0), F(0), F(0), F(0), F(0), F(0)};
    along(velocity, at.dimensions, none, rest);
    for (int k = 0; k < at.dimensions; ++k) rest[k] = F(at.damping) * rest[k];
    rest[0] = math::fma(this->mu * F(at.stiffness), d * x, rest[0]);
  }

  // Adds the stiffness, and the force at zero acceleration, to the coupling of the contact's body
  // (drl/physics/work.hpp), about the origin of its tree.
  DRL_HD void add_coupling(int residuals, F* coupling) const {
    const Stiffness<F>& k = this->now;
    F lin[3][3], bent[3][3], ang[3][3], f[kResiduals];  // linear; torque of linear motion; torque of angular motion
    constexpr int kLinear[3] = {1, 2, 0}, kAngular[3] = {4, 5, 3};  // residuals along x, y, z
    const auto entry = [&](int a, int b) DRL_LAMBDA {
      const F both = this->scale(a) * this->scale(b);
      if (a == 0 && b == 0) return both * k.normal;
      if (a == 0 || b == 0) return both * k.cross * k.t[(a == 0 ? b : a) - 1];
      const F turned = k.along * (k.t[a - 1] * k.t[b - 1]);
      return both * (a == b ? k.across + turned : turned);
    };
    const bool has_friction = residuals > 1, turns = residuals > 3;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const bool is_there = has_friction || (i == 2 && j == 2);
        lin[i][j] = is_there && j >= i ? entry(kLinear[i], kLinear[j]) : F(0);
        bent[i][j] = turns ? entry(kAngular[i], kLinear[j]) : F(0);
        ang[i][j] = turns && j >= i ? entry(kAngular[i], kAngular[j]) : F(0);
      }
    for (int i = 1; i < 3; ++i)
      for (int j = 0; j < i; ++j) lin[i][j] = lin[j][i], ang[i][j] = ang[j][i];
    k.times(rest, residuals, f);
    for (int r = 0; r < kResiduals; ++r) f[r] = r < residuals ? this->scale(r) * f[r] : F(0);

    // Moves them from the point to the origin: a force has a torque, and an angular acceleration moves the point.
    const auto cross = [&](const F* b, int i) DRL_LAMBDA {  // point x b
      const int l = (i + 1) % 3, m = (i + 2) % 3;
      return math::fma(point[l], b[m], -(point[m] * b[l]));
    };
    F mixed[3][3];
    for (int j = 0; j < 3; ++j) {
      const F column[3] = {lin[0][j], lin[1][j], lin[2][j]};
      for (int i = 0; i < 3; ++i) mixed[i][j] = bent[i][j] + cross(column, i);
    }
    constexpr int kRow[6] = {0, 1, 2, 0, 0, 1}, kColumn[6] = {0, 1, 2, 1, 2, 2};
    for (int s = 0; s < 6; ++s) {
      const int i = kRow[s], j = kColumn[s];
      const F own = turns ? ang[i][j] + cross(bent[j], i) : F(0);
      coupling[s] = coupling[s] + (own + cross(mixed[i], j));
      coupling[15 + s] = coupling[15 + s] + lin[i][j];
    }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) coupling[6 + 3 * i + j] = coupling[6 + 3 * i + j] + mixed[i][j];
    const F force[3] = {f[1], f[2], f[0]};
    for (int i = 0; i < 3; ++i) {
      coupling[21 + i] = coupling[21 + i] + (f[kAngular[i]] + cross(force, i));
      coupling[24 + i] = coupling[24 + i] + force[i];
    }
  }

  // Adds the contact's (torque about the origin, force) to `wrench`.
  DRL_HD void add_wrench(int residuals, F* wrench) const {
    F f[kResiduals];
    this->push(residuals, f);
    const F force[3] = {f[1], f[2], f[0]}, torque[3] = {f[4], f[5], f[3]};
    for (int i = 0; i < 3; ++i) {
      const int l = (i + 1) % 3, m = (i + 2) % 3;
      wrench[i] = wrench[i] + math::fma(point[l], force[m], math::fma(-point[m], force[l], torque[i]));
      wrench[3 + i] = wrench[3 + i] + force[i];
    }
  }
};

}  // namespace drl::inline DRL_ISA::physics

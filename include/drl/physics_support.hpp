// What the physics of all robots in lanes have in common: the numbers that pass between their functions, the solver of
// limits and contacts, and the integrators. A header that drl_robot writes has the rest, as functions of one model:
//
//   using P = drl::physics::half_cheetah::Physics<F>;
//   P::State state;                            qpos, qvel, warm_start, time: all that the next step depends on
//   P::Stage last;
//   drl::physics::step<P>(state, ctrl, last);
//   drl::physics::see<P>(last, seen);          what a task reads: MuJoCo's numbers, by MuJoCo's names
//
// Numbers are MuJoCo's (mujoco.readthedocs.io, "Computation"), but that limits and contacts are always solved to the
// end (Newton's method), however few iterations the model's file asks for. What comes out of a lane depends on nothing
// but what goes into it.
#pragma once

#include "drl/lanes.hpp"
#include "drl/math.hpp"
#include "drl/physics_friction.hpp"
#include "drl/physics_pairs.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

struct NamedJoint {
  const char* name;
  int qpos, qvel;  // where its numbers begin
};
struct NamedSensor {
  const char* name;
  int first, size;  // of its numbers
};

// Of a joint that has limits.
using Range = double[2];

// A place of a robot that may touch the floor: what the functions of its model read of it.
struct ContactPoint {
  int body, frame;  // among those that may touch
  double radius, height, margin, friction, weight;
  double stiffness, damping, least, most, width, midpoint;  // of the solver's parameters
};

// The centre of its sphere from its tree's origin, the distance from the floor, and the direction of friction.
template <class F>
struct Touch {
  F center_x, center_y, center_z, distance, along_x, along_y;
};
// Where it touches, the first tangent, and the residuals at no acceleration.
template <class F>
struct ContactRow {
  F point_x, point_y, point_z, tangent_x, tangent_y, rest_normal, rest_first, rest_second;
};

// An array of at least one, because C++ has none of 0.
constexpr int some(int n) { return n > 0 ? n : 1; }
// An array that takes no room where it is empty.
template <class T, int n>
struct Empty {};
template <class T, int n>
using Array = std::conditional_t<(n > 0), T[some(n)], Empty<T, n>>;

template <class F, class Sizes>
struct State {
  F qpos[Sizes::nq], qvel[Sizes::nv];
  F warm_start[Sizes::nv];  // MuJoCo's qacc_warmstart
  F time;                   // s
};

// Of a stage, where there are any: what this environment changes, which stays as it is set; of each contact sensor, how
// many contacts there are, and the force on the floor. (Empty members of Stage would have nvcc keep another one.)
template <class F, int n>
struct OwnNumbers {
  F own[n];
};
template <class F>
struct OwnNumbers<F, 0> {};
template <class F, int n>
struct SensedForces {
  F sensed[n][4];
};
template <class F>
struct SensedForces<F, 0> {};

// What a stage of a step was computed from, and what came out: see() finds all else in it.
template <class F, class Sizes>
struct Stage : OwnNumbers<F, Sizes::kParameters>,
               SensedForces<F, Sizes::kSensorNumbers == 0 ? 0 : some(Sizes::kSensed)> {
  F qpos[Sizes::nq], qvel[Sizes::nv], ctrl[some(Sizes::nu)], qacc[Sizes::nv];
  F wrench[some(Sizes::kTouchingFrames)][6];                 // torque about the tree's origin and force of contacts
  F limit[some(Sizes::kLimits + count_frictions<Sizes>())];  // force along qvel; then those of dry friction
  F unsolved;                                                // how many solutions of this step had not converged
};

template <class F, class Sizes>
struct Seen {
  F xpos[Sizes::nbody][3], xquat[Sizes::nbody][4], xipos[Sizes::nbody][3], subtree_com[Sizes::nbody][3];
  F geom_xpos[some(Sizes::ngeom)][3], site_xpos[some(Sizes::nsite)][3];
  F cinert[Sizes::nbody][10], cvel[Sizes::nbody][6], cfrc_ext[Sizes::nbody][6];  // but for the world
  F qfrc_actuator[Sizes::nv], qfrc_constraint[Sizes::nv], actuator_force[some(Sizes::nu)];
  [[no_unique_address]] Array<F, Sizes::kSensorNumbers> sensor;  // of motion
};

// What a stage computes with. Rows are the constraints' inequalities: kEdges of each floor contact, then one of each
// limit, then those of pairs. Row r has a residual y that is linear in qacc, and pushes with -weight y where y < 0.
template <class F, class Sizes>
struct Work {
  static constexpr int kFixedRows = Sizes::kContacts * Sizes::kEdges + Sizes::kLimits;
  static constexpr int kRows = some(kFixedRows + Sizes::kPairRows), kOfPairs = Sizes::kPairs > 0 ? Sizes::nv : 1;
  static constexpr int kUpdates = some(Sizes::kPairRows + kResiduals * Sizes::kPairCones);
  F axis[some(Sizes::kAxis)], mass[some(Sizes::kMass)], force[some(Sizes::kForce)], free_turn[some(Sizes::kFreeTurn)];
  [[no_unique_address]] Array<F, Sizes::kDamping> damping;
  [[no_unique_address]] std::conditional_t<(Sizes::kParameters > 0), const F*, Empty<const F*, 0>> own;  // the stage's
  Touch<F> touch[some(Sizes::kContacts + Sizes::kCones)];
  ContactRow<F> contact[some(Sizes::kContacts)];
  F velocity[some(Sizes::kTouchingBodies)][6], acceleration[some(Sizes::kTouchingBodies)][6];
  F coupling[some(Sizes::kTouchingBodies)][kCouplings];
  F limit_sign[some(Sizes::kLimits)], limit_rest[some(Sizes::kLimits)];
  F weight[kRows];
  F active[kRows];  // weight or 0: those that push
  F y[kRows];       // at the last accelerations
  F next_y[kRows];  // at the next ones
  F next_active[kRows];
  int touching[some(Sizes::kContacts + Sizes::kCones)], touches = 0;  // contacts that are there in some lane
  [[no_unique_address]] Array<FloorCone<F>, Sizes::kCones> cone;      // of these
  [[no_unique_address]] Array<FrictionRow<F>, count_frictions<Sizes>()> friction;
  // Of pairs that may touch: parts, where other trees' origins are, rows, and M's factors with what else pushes.
  Round<F> round[some(Sizes::kRounds)];
  F between[some(Sizes::kTrees)][3];
  PairRow<F, kOfPairs> pair_row[some(Sizes::kPairRows)];
  int pair_rows = 0, pair_cones = 0;  // of the lane that has most
  F factor[some(Sizes::kFactor)], inverse[kOfPairs], half[kOfPairs], pair_update[kUpdates][kOfPairs];
  [[no_unique_address]] Array<Box<F>, Sizes::kBoxes> box;
  [[no_unique_address]] Array<PairCone<F, kOfPairs>, Sizes::kPairCones> pair_cone;
};

// Calls body(row) for each row of the floor contacts and pairs that are there, and of the limits.
template <class P, class Body>
DRL_HD void each_row(const typename P::Work& w, const Body& body) {
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t)
      for (int e = 0; e < P::kEdges; ++e) body(w.touching[t] * P::kEdges + e);
  for (int l = 0; l < P::kLimits; ++l) body(P::kContacts * P::kEdges + l);
  if constexpr (P::kPairs > 0)
    for (int s = 0; s < w.pair_rows; ++s) body(P::Work::kFixedRows + s);
}

// Calls body(residuals, cone) for each contact in an elliptic cone that is there.
template <class P, class Work, class Body>
DRL_HD void each_cone(Work& w, const Body& body) {
  if constexpr (P::kCones > 0)
    for (int t = 0; t < w.touches; ++t) body(P::cone(w.touching[t]).dimensions, w.cone[t]);
  if constexpr (P::kPairCones > 0)
    for (int c = 0; c < w.pair_cones; ++c) body(kResiduals, w.pair_cone[c]);
}

// Calls body(friction, row) for each joint's dry friction.
template <class P, class Work, class Body>
DRL_HD void each_friction(Work& w, const Body& body) {
  if constexpr (count_frictions<P>() > 0)
    for (int f = 0; f < P::kFrictions; ++f) body(P::friction(f), w.friction[f]);
}

// The contacts that are there in some lane, with none of their rows pushing yet. True in lanes that have too many.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> begin_rows(typename P::Work& w, const typename P::Number* qvel) {
  using F = typename P::Number;
  Mask<F> has_too_many = F(0) != F(0);
  w.touches = 0;
  if constexpr (P::kContacts > 0) {
    for (int c = 0; c < P::kContacts; ++c) {
      const ContactPoint& point = P::point(c);
      if (!any(w.touch[c].distance < F(point.margin))) continue;
      P::contact_row(point, w.touch[c], w.velocity[point.body], w.contact[c], w.weight + c * P::kEdges);
      w.touching[w.touches++] = c;
    }
    P::no_coupling(w);
  }
  if constexpr (P::kCones > 0) {
    for (int c = 0; c < P::kCones; ++c) {
      const ConePoint& point = P::cone(c);
      if (!any(w.touch[c].distance < F(point.margin))) continue;
      w.cone[w.touches].begin(point, w.touch[c], w.velocity[point.body], own_of<P>(w), P::regularised);
      w.touching[w.touches++] = c;
    }
  }
  if constexpr (P::kPairs > 0) {
    F turned[P::nv];
    P::into_solver(w, qvel, turned);
    has_too_many = begin_pairs<P>(w, turned);
  }
  each_row<P>(w, [&](int r) DRL_LAMBDA { w.active[r] = F(0); });
  each_cone<P>(w, [&](int, Cone<F>& cone) DRL_LAMBDA { cone.begin_solution(); });
  each_friction<P>(w, [&](const DryFriction&, FrictionRow<F>& row) DRL_LAMBDA { row.begin_solution(); });
  return has_too_many;
}

// The same of elliptic cones, whose stiffness differs a little until a solution is found: true in the lanes where what
// pushes is not what the solution took it for.
template <class P>
DRL_HD Mask<typename P::Number> find_next_cones(typename P::Work& w, const typename P::Number* qacc) {
  using F = typename P::Number;
  constexpr double kSame = sizeof(Scalar<F>) == 4 ? 1e-5 : 1e-13;
  if constexpr (P::kCones > 0) {
    if (w.touches > 0) P::accelerations(w, qacc, w.acceleration);
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      FloorCone<F>& cone = w.cone[t];
      cone.along(w.acceleration[point.body], point.dimensions, cone.rest, cone.next_u);
    }
  }
  if constexpr (P::kPairCones > 0)
    for (int c = 0; c < w.pair_cones; ++c)
      for (int r = 0; r < kResiduals; ++r) {
        const PairRow<F, P::nv>& row = w.pair_cone[c].row[r];
        w.pair_cone[c].next_u[r] = long_dot<P::nv>(row.along, qacc, row.rest);
      }
  F size = F(0), error = F(0);
  each_cone<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA {
    cone.find_next(residuals);
    cone.compare(residuals, size, error);
  });
  return F(kSame * kSame) * size < error;
}

// Residuals at qacc, and which rows push there; true in the lanes where these are not those that pushed before.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> find_next(typename P::Work& w, const typename P::Number* qacc) {
  using F = typename P::Number;
  Mask<F> differs = F(0) != F(0);
  const auto decide = [&](int r) DRL_LAMBDA {
    w.next_active[r] = math::select(w.next_y[r] < F(0), w.weight[r], F(0));
    differs = differs | (w.next_active[r] != w.active[r]);
  };
  if constexpr (P::kContacts > 0) {
    P::accelerations(w, qacc, w.acceleration);
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ContactPoint& point = P::point(c);
      P::contact_edges(point, w.contact[c], w.acceleration[point.body], w.next_y + c * P::kEdges);
      for (int e = 0; e < P::kEdges; ++e) decide(c * P::kEdges + e);
    }
  }
  for (int l = 0; l < P::kLimits; ++l) {
    const int r = P::kContacts * P::kEdges + l;
    w.next_y[r] = math::fma(w.limit_sign[l], qacc[P::limited(l)], w.limit_rest[l]);
    decide(r);
  }
  if constexpr (P::kPairs > 0)
    for (int s = 0; s < w.pair_rows; ++s) {
      const PairRow<F, P::nv>& row = w.pair_row[s];
      w.next_y[P::Work::kFixedRows + s] = long_dot<P::nv>(row.along, qacc, row.rest);
      decide(P::Work::kFixedRows + s);
    }
  if constexpr (P::kCones + P::kPairCones > 0) differs = differs | find_next_cones<P>(w, qacc);
  if constexpr (count_frictions<P>() > 0) {
    F along[P::nv];  // qvel
    P::out_of_solver(w, qacc, along);
    each_friction<P>(w, [&](const DryFriction& friction, FrictionRow<F>& row) DRL_LAMBDA {
      row.next_y = along[friction.dof] + row.rest;
      differs = differs | row.differs(friction);
    });
  }
  return differs;
}

// Search on the line from `qacc` to its Newton step `next`, in the lanes of the mask: the cost is convex, and quadratic
// between residuals' changes of sign. A lane goes back from `next` until its slope is at most `enough` of the one at
// the start. next, its residuals and what pushes there become those of the place found.
template <class P>
DRL_HD_CALLED void search_line(typename P::Work& w, const typename P::Number* qacc, typename P::Number* next,
                               Mask<typename P::Number> lanes, double enough) {
  using F = typename P::Number;
  constexpr bool is_steep = P::kCones + P::kPairCones + count_frictions<P>() > 0;
  constexpr int kSteps = is_steep ? 20 : 10;
  F way[P::nv], curvature;
  for (int i = 0; i < P::nv; ++i) way[i] = next[i] - qacc[i];
  P::curvature(w, way, curvature);
  // Of all but the rows; at `next` it is that of the rows which pushed, turned round.
  F slope = -curvature, start = curvature;
  each_row<P>(w, [&](int r) DRL_LAMBDA {
    const F change = w.next_y[r] - w.y[r], push = w.active[r] * change;
    slope = math::fma(-push, w.next_y[r], slope), start = math::fma(push, change, start);
  });
  each_cone<P>(w, [&](int residuals, const Cone<F>& cone) DRL_LAMBDA { cone.begin_line(residuals, slope, start); });
  each_friction<P>(w, [&](const DryFriction&, const FrictionRow<F>& row) DRL_LAMBDA { row.begin_line(slope, start); });
  F low = F(0), high = F(1), at = F(1), moved = F(4);
  Mask<F> goes_on = lanes;
  for (int k = 0; k < kSteps; ++k) {
    F first = math::fma(at, curvature, slope), second = curvature;  // derivatives
    each_row<P>(w, [&](int r) DRL_LAMBDA {
      const F change = w.next_y[r] - w.y[r], y = math::fma(at, change, w.y[r]);
      const F push = math::select(y < F(0), w.weight[r] * change, F(0));
      first = math::fma(push, y, first), second = math::fma(push, change, second);
    });
    each_cone<P>(w,
                 [&](int residuals, const Cone<F>& cone) DRL_LAMBDA { cone.add_slopes(residuals, at, first, second); });
    each_friction<P>(w, [&](const DryFriction& friction, const FrictionRow<F>& row)
                            DRL_LAMBDA { row.add_slopes(friction, at, first, second); });
    const F steep = F(enough) * start;
    goes_on = goes_on & ((steep < first) | (first < -steep)) & ((at < F(1)) | (F(0) < first));
    if (!any(goes_on)) break;
    low = math::select(first < F(0), at, low), high = math::select(first < F(0), high, at);
    const F newton = at - first / second;
    Mask<F> is_inside = (low < newton) & (newton < high);
    // A cone's slope, or dry friction's, may rise steeply between flat parts, from each of which Newton's step leads to
    // the other one.
    if constexpr (is_steep) is_inside = is_inside & (math::abs(newton - at) < F(0.5) * moved);
    const F next_at = math::select(is_inside, newton, F(0.5) * (low + high));
    moved = math::abs(next_at - at), at = math::select(goes_on, next_at, at);
  }
  const Mask<F> is_back = lanes & (at < F(1));
  if (!any(is_back)) return;
  for (int i = 0; i < P::nv; ++i) next[i] = math::select(is_back, math::fma(at, way[i], qacc[i]), next[i]);
  each_row<P>(w, [&](int r) DRL_LAMBDA {
    const F y = math::fma(at, w.next_y[r] - w.y[r], w.y[r]);
    w.next_y[r] = math::select(is_back, y, w.next_y[r]);
    w.next_active[r] = math::select(w.next_y[r] < F(0), w.weight[r], F(0));
  });
  each_cone<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA { cone.go_back(residuals, is_back, at); });
  each_friction<P>(w, [&](const DryFriction&, FrictionRow<F>& row) DRL_LAMBDA { row.go_back(is_back, at); });
}

// The rows that push become the next ones, and so does what contacts add to bodies.
template <class P>
DRL_HD_CALLED void take_next(typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t], r = c * P::kEdges;
      F change[P::kEdges];
      Mask<F> differs = F(0) != F(0);
      for (int e = 0; e < P::kEdges; ++e) {
        change[e] = w.next_active[r + e] - w.active[r + e];
        differs = differs | (change[e] != F(0));
      }
      const ContactPoint& point = P::point(c);
      if (any(differs)) P::add_coupling(point, w.contact[c], change, w.coupling[point.body]);
    }
  each_row<P>(w, [&](int r) DRL_LAMBDA { w.active[r] = w.next_active[r], w.y[r] = w.next_y[r]; });
  each_cone<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA { cone.take_next(residuals); });
  each_friction<P>(w, [&](const DryFriction& friction, FrictionRow<F>& row) DRL_LAMBDA { row.take_next(friction); });
  if constexpr (P::kCones > 0) {
    P::no_coupling(w);
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      w.cone[t].add_coupling(point.dimensions, w.coupling[point.body]);
    }
  }
}

// The accelerations at which forces are in balance, if the rows that push are those of the work.
template <class P>
DRL_HD void balance(typename P::Work& w, typename P::Number* qacc) {
  if constexpr (P::kPairs > 0) {
    P::factorise(w);
    take_pairs<P>(w);
    P::solve_down(w, qacc);
  } else {
    P::newton(w, qacc);
  }
}

// The accelerations at which the cost of limits and contacts is least, by Newton's method on the rows that push: where
// these stay the same the solution is exact. qacc [nv], in the solver's axes, is the warm start. Counts lanes that have
// not converged after kRounds, or touch themselves in more places than the work has.
template <class P>
DRL_HD_CALLED void solve(typename P::Work& w, const typename P::Number* qvel, typename P::Number* qacc,
                         typename P::Number& unsolved) {
  using F = typename P::Number;
  constexpr int kRounds = 20, kLoose = 5;
  const Mask<F> has_too_many = begin_rows<P>(w, qvel);
  Mask<F> is_solved = F(0) != F(0);
  F next[P::nv];
  for (int i = 0; i < P::nv; ++i) next[i] = qacc[i];
  for (int round = 0;; ++round) {
    const Mask<F> differs = find_next<P>(w, next);
    const bool is_last = round > 0 && (!any(differs) || round == kRounds);
    if (is_last) unsolved = unsolved + math::select(differs | has_too_many, F(1), F(0));
    if (!is_last && round > 0) search_line<P>(w, qacc, next, differs, round < kLoose ? 0.5 : 0.01);
    for (int i = 0; i < P::nv; ++i) qacc[i] = next[i];
    if (is_last) return;
    take_next<P>(w);
    balance<P>(w, next);
    // Where cones push, a solution would change a little with each round that other lanes take.
    if constexpr (P::kCones + P::kPairCones > 0) {
      if (round > 0) is_solved = is_solved | !differs;
      for (int i = 0; i < P::nv; ++i) next[i] = math::select(is_solved, qacc[i], next[i]);
    }
  }
}

// The acceleration that follows from a stage's position, velocity and controls, from a warm start. `damped` [nv]: the
// one that Euler's step takes, where that is another.
template <class P>
DRL_HD_CALLED void forward(typename P::Stage& stage, const typename P::Number* warm_start, typename P::Work& w,
                           typename P::Number* damped) {
  using F = typename P::Number;
  if constexpr (P::kParameters > 0)
    w.own = stage.own, P::smooth(stage.qpos, stage.qvel, stage.ctrl, stage.own, w);
  else
    P::smooth(stage.qpos, stage.qvel, stage.ctrl, w);
  F qacc[P::nv];
  P::into_solver(w, warm_start, qacc);
  solve<P>(w, stage.qvel, qacc, stage.unsolved);
  P::out_of_solver(w, qacc, stage.qacc);
  if constexpr (P::kImplicitDamping) {
    F turned[P::nv];
    P::damp(w, qacc, turned);
    P::out_of_solver(w, turned, damped);
  }
}

// Of elliptic cones, and of what contact sensors feel.
template <class P>
DRL_HD void find_cone_forces(const typename P::Work& w, typename P::Stage& stage) {
  using F = typename P::Number;
  if constexpr (P::kSensed > 0)
    for (auto& of_sensor : stage.sensed)
      for (F& x : of_sensor) x = F(0);
  for (int t = 0; t < w.touches; ++t) {
    const int c = w.touching[t];
    const ConePoint& point = P::cone(c);
    F* sensed = nullptr;
    if constexpr (P::kSensed > 0)
      if (point.sensor >= 0) sensed = stage.sensed[point.sensor];
    w.cone[t].add_wrench(point.dimensions, stage.wrench[point.frame], sensed ? sensed + 1 : nullptr);
    if (sensed) sensed[0] = sensed[0] + math::select(w.touch[c].distance < F(point.margin), F(1), F(0));
  }
}

// The forces of limits and contacts in the solution that the work holds.
template <class P>
DRL_HD_CALLED void find_forces(const typename P::Work& w, typename P::Stage& stage) {
  using F = typename P::Number;
  for (int f = 0; f < P::kTouchingFrames; ++f)
    for (int k = 0; k < 6; ++k) stage.wrench[f][k] = F(0);
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      F push[P::kEdges];
      for (int e = 0; e < P::kEdges; ++e) {
        const int r = c * P::kEdges + e;
        push[e] = -(w.next_active[r] * w.next_y[r]);
      }
      const ContactPoint& point = P::point(c);
      P::add_wrench(point, w.contact[c], push, stage.wrench[point.frame]);
    }
  if constexpr (P::kCones > 0) find_cone_forces<P>(w, stage);
  if constexpr (P::kPairs > 0) add_pair_wrenches<P>(w, stage.wrench);
  for (int l = 0; l < P::kLimits; ++l) {
    const int r = P::kContacts * P::kEdges + l;
    stage.limit[l] = -(w.limit_sign[l] * w.next_active[r] * w.next_y[r]);
  }
  if constexpr (count_frictions<P>() > 0)
    for (int f = 0; f < P::kFrictions; ++f) stage.limit[P::kLimits + f] = w.friction[f].push(P::friction(f));
}

template <class P>
DRL_HD void begin_stage(const typename P::State& state, const typename P::Number* ctrl, typename P::Stage& stage) {
  for (int k = 0; k < P::nq; ++k) stage.qpos[k] = state.qpos[k];
  for (int k = 0; k < P::nv; ++k) stage.qvel[k] = state.qvel[k];
  for (int k = 0; k < P::nu; ++k) stage.ctrl[k] = ctrl[k];
  stage.unsolved = typename P::Number(0);
}

// mj_step with Euler's method: the velocity first, then the position with the new one.
template <class P>
DRL_HD void step_euler(typename P::State& state, typename P::Stage& stage, typename P::Work& w) {
  using F = typename P::Number;
  F damped[P::nv];
  forward<P>(stage, state.warm_start, w, damped);
  const F* qacc = P::kImplicitDamping ? damped : stage.qacc;
  for (int k = 0; k < P::nv; ++k) {
    state.qvel[k] = math::fma(F(P::timestep), qacc[k], state.qvel[k]);
    state.warm_start[k] = stage.qacc[k];
  }
  P::integrate(stage.qpos, state.qvel, F(P::timestep), state.qpos);
}

// mj_step with the classical Runge-Kutta method of order 4. Each stage's solver starts from the stage before.
template <class P>
DRL_HD void step_runge_kutta(typename P::State& state, typename P::Stage& stage, typename P::Work& w) {
  using F = typename P::Number;
  constexpr double kNext[] = {0.5 * P::timestep, 0.5 * P::timestep, P::timestep};
  constexpr double kShare[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  F velocity[P::nv], acceleration[P::nv];  // means of the stages
  for (int k = 0; k < P::nv; ++k) velocity[k] = acceleration[k] = F(0);
  for (int s = 0; s < 4; ++s) {
    forward<P>(stage, state.warm_start, w, nullptr);
    for (int k = 0; k < P::nv; ++k) {
      velocity[k] = math::fma(F(kShare[s]), stage.qvel[k], velocity[k]);
      acceleration[k] = math::fma(F(kShare[s]), stage.qacc[k], acceleration[k]);
      state.warm_start[k] = stage.qacc[k];
    }
    if (s == 3) break;
    P::integrate(state.qpos, stage.qvel, F(kNext[s]), stage.qpos);
    for (int k = 0; k < P::nv; ++k) stage.qvel[k] = math::fma(F(kNext[s]), stage.qacc[k], state.qvel[k]);
  }
  F start[P::nq];
  for (int k = 0; k < P::nq; ++k) start[k] = state.qpos[k];
  for (int k = 0; k < P::nv; ++k) state.qvel[k] = math::fma(F(P::timestep), acceleration[k], state.qvel[k]);
  P::integrate(start, velocity, F(P::timestep), state.qpos);
}

// mj_step, computed in `w`. `last` is the stage that MuJoCo computed last, of which tasks see the rest; its forces
// (wrench, limit) only if they are wanted.
template <class P>
DRL_HD_CALLED void step(typename P::State& state, const typename P::Number* ctrl, typename P::Stage& last,
                        typename P::Work& w, bool wants_forces = true) {
  begin_stage<P>(state, ctrl, last);
  if constexpr (P::kRungeKutta)
    step_runge_kutta<P>(state, last, w);
  else
    step_euler<P>(state, last, w);
  if (wants_forces) find_forces<P>(w, last);
  state.time = state.time + typename P::Number(P::timestep);
}
template <class P>
DRL_HD void step(typename P::State& state, const typename P::Number* ctrl, typename P::Stage& last,
                 bool wants_forces = true) {
  typename P::Work w;
  step<P>(state, ctrl, last, w, wants_forces);
}

// What follows from a stage's position, velocity and controls.
template <class P>
DRL_HD_CALLED void solve_stage(const typename P::State& state, typename P::Stage& stage, typename P::Work& w) {
  typename P::Number damped[P::nv];
  forward<P>(stage, state.warm_start, w, damped);
  find_forces<P>(w, stage);
}
// mj_forward: the stage of a state as it is. The state's warm start stays.
template <class P>
DRL_HD void look(const typename P::State& state, const typename P::Number* ctrl, typename P::Stage& stage) {
  typename P::Work w;
  begin_stage<P>(state, ctrl, stage);
  solve_stage<P>(state, stage, w);
}

// What tasks read of a stage: where bodies, geoms and sites are; how bodies move; forces; sensors of motion. What a
// centre of mass matters to depends on those that environments shift.
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
DRL_HD void see_forces(const typename P::Stage& s, typename P::Seen& seen) {
  if constexpr (P::kParameters > 0)
    P::see_forces(s.qpos, s.wrench, s.own, seen);
  else
    P::see_forces(s.qpos, s.wrench, seen);
}
template <class P>
DRL_HD void see_sensors(const typename P::Stage& s, typename P::Seen& seen) {
  if constexpr (P::kSensorNumbers > 0 && P::kParameters > 0)
    P::see_sensors(s.qpos, s.qvel, s.own, seen);
  else if constexpr (P::kSensorNumbers > 0)
    P::see_sensors(s.qpos, s.qvel, seen);
}
// All of it.
template <class P>
DRL_HD void see(const typename P::Stage& stage, typename P::Seen& seen) {
  see_frames<P>(stage, seen), see_centers<P>(stage, seen);
  P::see_points(stage.qpos, seen);
  see_motion<P>(stage, seen);
  P::see_actuators(stage.qpos, stage.qvel, stage.ctrl, seen);
  see_forces<P>(stage, seen);
  P::see_constraints(stage.qpos, stage.wrench, stage.limit, seen);
  see_sensors<P>(stage, seen);
}
// As the model's file has what environments change.
template <class P>
DRL_HD void begin_parameters([[maybe_unused]] typename P::Stage& stage) {
  if constexpr (P::kParameters > 0)
    for (int k = 0; k < P::kParameters; ++k) stage.own[k] = typename P::Number(P::parameter(k / 3).start[k % 3]);
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

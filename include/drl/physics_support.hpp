// What the physics of all robots in lanes have in common: the numbers that pass between their functions, the solver of
// limits and contacts, and the integrators. A header that drl_robot writes has the rest, as functions of one model:
//
//   using P = drl::physics::half_cheetah::Physics<F>;
//   P::State state;                            qpos, qvel, warm_start, time: all that the next step depends on
//   P::Stage last;
//   P::Forces forces = drl::physics::step<P>(state, ctrl, last);
//   drl::physics::see<P>(last, forces, seen);  what a task reads: MuJoCo's numbers, by MuJoCo's names
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

// What a stage of a step was computed from, and what came out: see() finds all else in it and its forces.
template <class F, class Sizes>
struct Stage : OwnNumbers<F, Sizes::kParameters>,
               SensedForces<F, Sizes::kSensorNumbers == 0 ? 0 : some(Sizes::kSensed)> {
  F qpos[Sizes::nq], qvel[Sizes::nv], ctrl[some(Sizes::nu)], qacc[Sizes::nv];
  F unsolved;  // how many solutions of this step had not converged
};
// Of a stage's limits, dry friction and contacts.
template <class F, class Sizes>
struct Forces {
  F wrench[some(Sizes::kTouchingFrames)][Sizes::kWrench];    // of torque about the tree's origin, force of contacts
  F limit[some(Sizes::kLimits + count_frictions<Sizes>())];  // force along qvel; then those of dry friction
};

template <class F, class Sizes>
struct Seen {
  F xpos[Sizes::nbody][3], xquat[Sizes::nbody][4], xipos[Sizes::nbody][3], subtree_com[Sizes::nbody][3];
  F geom_xpos[some(Sizes::ngeom)][3];
  [[no_unique_address]] Array<F[3], Sizes::nsite> site_xpos;
  // Of each but the world.
  F cinert[some(Sizes::nbody - 1)][10], cvel[some(Sizes::nbody - 1)][6], cfrc_ext[some(Sizes::nbody - 1)][6];
  F qfrc_actuator[Sizes::nv], qfrc_constraint[Sizes::nv], actuator_force[some(Sizes::nu)];
  [[no_unique_address]] Array<F, Sizes::kSensorNumbers> sensor;  // of motion
};

// Of a place that may touch the floor, in numbers that the robot's header lists: where it is; then, if it is there,
// where it touches, and its residuals at no acceleration.
template <class F, class Sizes>
union Contact {
  typename Sizes::template Touch<F> touch;
  typename Sizes::template ContactRow<F> row;
};

// A body that has contacts: its velocity, then its acceleration; what contacts add to the equations of its motion.
template <class F, class Sizes>
struct TouchingBody {
  F motion[some(Sizes::kMotions)], coupling[some(Sizes::kCouplings)];
};

// What a stage computes with. Rows are the constraints' inequalities: kEdges of each floor contact, then one of each
// limit, then those of pairs. A row has a residual y that is linear in qacc, and pushes with -weight y where y < 0. A
// contact's edges have one weight; in a plane, y has the residuals along its normal and tangent.
template <class F, class Sizes>
struct Work {
  static constexpr int kOfContact = Sizes::kEdges == 3 ? 2 : Sizes::kEdges;
  static constexpr int kOfContacts = Sizes::kContacts * kOfContact, kFixedRows = kOfContacts + Sizes::kLimits;
  static constexpr int kFixedWeights = Sizes::kContacts + Sizes::kLimits;
  static constexpr int kRows = kFixedRows + Sizes::kPairRows, kOfPairs = Sizes::kPairs > 0 ? Sizes::nv : 0;
  static constexpr int kUpdates = Sizes::kPairRows + kResiduals * Sizes::kPairCones;
  [[no_unique_address]] Array<F, Sizes::kAxis> axis;
  [[no_unique_address]] Array<F, Sizes::kMass> mass;
  [[no_unique_address]] Array<F, Sizes::kForce> force;
  [[no_unique_address]] Array<F, Sizes::kFreeTurn> free_turn;
  [[no_unique_address]] Array<F, Sizes::kDamping> damping;
  [[no_unique_address]] std::conditional_t<(Sizes::kParameters > 0), const F*, Empty<const F*, 0>> own;  // the stage's
  [[no_unique_address]] Array<Contact<F, Sizes>, Sizes::kContacts + Sizes::kCones> contact;
  [[no_unique_address]] Array<F, Sizes::kLimits> limit_sign, limit_rest;
  [[no_unique_address]] Array<F, kFixedWeights + Sizes::kPairRows> weight;
  [[no_unique_address]] Array<F, kRows> y, next_y;  // at the last accelerations, and at the next ones
  union {
    Array<TouchingBody<F, Sizes>, Sizes::kTouchingBodies> body;
    Forces<F, Sizes> forces;  // after the solution
  };
  uint16_t touching[some(Sizes::kContacts + Sizes::kCones)];
  int touches = 0;                                                // contacts that are there in some lane
  [[no_unique_address]] Array<FloorCone<F>, Sizes::kCones> cone;  // of these
  [[no_unique_address]] Array<FrictionRow<F>, count_frictions<Sizes>()> friction;
  // Of pairs that may touch: parts, where other trees' origins are, rows, and M's factors with what else pushes.
  [[no_unique_address]] Array<Round<F>, Sizes::kRounds> round;
  [[no_unique_address]] Array<F[3], (Sizes::kTrees > 1 ? Sizes::kTrees : 0)> between;
  [[no_unique_address]] Array<PairRow<F, some(kOfPairs)>, Sizes::kPairRows> pair_row;
  int pair_rows = 0, pair_cones = 0;  // of the lane that has most
  [[no_unique_address]] Array<F, Sizes::kFactor> factor;
  [[no_unique_address]] Array<F, kOfPairs> inverse, half;
  [[no_unique_address]] Array<F[some(kOfPairs)], kUpdates> pair_update;
  [[no_unique_address]] Array<Box<F>, Sizes::kBoxes> box;
  [[no_unique_address]] Array<PairCone<F, some(kOfPairs)>, Sizes::kPairCones> pair_cone;
};

// In a plane, the last of a contact's edges is two.
template <class P, class F>
DRL_HD F edge_weight(F weight, int edge) {
  return P::kEdges == 3 && edge == 2 ? F(2) * weight : weight;
}
// The residual of an edge of the contact whose residuals are y.
template <class P, class F>
DRL_HD F edge_residual(const F* y, int edge) {
  if constexpr (P::kEdges == 3)
    return edge == 0 ? y[0] + y[1] : edge == 1 ? y[0] - y[1] : y[0];
  else
    return y[edge];
}

// Calls body(weight, y, next_y) for each row of the floor contacts and pairs that are there, and of the limits.
template <class P, class Body>
DRL_HD void each_row(typename P::Work& w, const Body& body) {
  using Work = typename P::Work;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t], r = c * Work::kOfContact;
      for (int e = 0; e < P::kEdges; ++e)
        body(edge_weight<P>(w.weight[c], e), edge_residual<P>(w.y + r, e), edge_residual<P>(w.next_y + r, e));
    }
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = Work::kOfContacts + l;
      body(w.weight[P::kContacts + l], w.y[r], w.next_y[r]);
    }
  if constexpr (P::kPairs > 0)
    for (int s = 0; s < w.pair_rows; ++s) {
      const int r = Work::kFixedRows + s;
      body(w.weight[Work::kFixedWeights + s], w.y[r], w.next_y[r]);
    }
}

// Calls body(y, next_y) for each of their residuals.
template <class P, class Body>
DRL_HD void each_residual(typename P::Work& w, const Body& body) {
  using Work = typename P::Work;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int r = w.touching[t] * Work::kOfContact;
      for (int k = 0; k < Work::kOfContact; ++k) body(w.y[r + k], w.next_y[r + k]);
    }
  if constexpr (P::kLimits + P::kPairRows > 0)
    for (int r = Work::kOfContacts; r < Work::kFixedRows + w.pair_rows; ++r) body(w.y[r], w.next_y[r]);
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
      const typename P::template Touch<F> touch = w.contact[c].touch;
      if (!any(touch.distance < F(point.margin))) continue;
      P::contact_row(point, touch, w.body[point.body].motion, w.contact[c].row, w.weight[c]);
      w.touching[w.touches++] = static_cast<uint16_t>(c);
    }
    P::no_coupling(w);
  }
  if constexpr (P::kCones > 0) {
    for (int c = 0; c < P::kCones; ++c) {
      const ConePoint& point = P::cone(c);
      const auto& touch = w.contact[c].touch;
      if (!any(touch.distance < F(point.margin))) continue;
      w.cone[w.touches].begin(point, touch, w.body[point.body].motion, own_of<P>(w), P::regularised);
      w.touching[w.touches++] = static_cast<uint16_t>(c);
    }
  }
  if constexpr (P::kPairs > 0) {
    F turned[P::nv];
    P::into_solver(w, qvel, turned);
    has_too_many = begin_pairs<P>(w, turned);
  }
  each_residual<P>(w, [&](F& y, F&) DRL_LAMBDA { y = F(0); });
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
    if (w.touches > 0) P::accelerations(w, qacc);
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      FloorCone<F>& cone = w.cone[t];
      cone.along(w.body[point.body].motion, point.dimensions, cone.rest, cone.next_u);
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
  using Work = typename P::Work;
  Mask<F> differs = F(0) != F(0);
  const auto decide = [&](const F& weight, const F& y, const F& next_y)
                          DRL_LAMBDA { differs = differs | (pushing(weight, next_y) != pushing(weight, y)); };
  if constexpr (P::kContacts > 0) {
    P::accelerations(w, qacc);
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ContactPoint& point = P::point(c);
      F *y = w.y + c * Work::kOfContact, *next_y = w.next_y + c * Work::kOfContact;
      P::contact_edges(point, w.contact[c].row, w.body[point.body].motion, next_y);
      for (int e = 0; e < P::kEdges; ++e) decide(w.weight[c], edge_residual<P>(y, e), edge_residual<P>(next_y, e));
    }
  }
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = Work::kOfContacts + l;
      w.next_y[r] = math::fma(w.limit_sign[l], qacc[P::limited(l)], w.limit_rest[l]);
      decide(w.weight[P::kContacts + l], w.y[r], w.next_y[r]);
    }
  if constexpr (P::kPairs > 0)
    for (int s = 0; s < w.pair_rows; ++s) {
      const PairRow<F, P::nv>& row = w.pair_row[s];
      const int r = Work::kFixedRows + s;
      w.next_y[r] = long_dot<P::nv>(row.along, qacc, row.rest);
      decide(w.weight[Work::kFixedWeights + s], w.y[r], w.next_y[r]);
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
  F curvature;
  P::curvature(w, qacc, next, curvature);
  // Of all but the rows; at `next` it is that of the rows which pushed, turned round.
  F slope = -curvature, start = curvature;
  each_row<P>(w, [&](F weight, F y, F next_y) DRL_LAMBDA {
    const F change = next_y - y, push = pushing(weight, y) * change;
    slope = math::fma(-push, next_y, slope), start = math::fma(push, change, start);
  });
  each_cone<P>(w, [&](int residuals, const Cone<F>& cone) DRL_LAMBDA { cone.begin_line(residuals, slope, start); });
  each_friction<P>(w, [&](const DryFriction&, const FrictionRow<F>& row) DRL_LAMBDA { row.begin_line(slope, start); });
  F low = F(0), high = F(1), at = F(1), moved = F(4);
  Mask<F> goes_on = lanes;
  for (int k = 0; k < kSteps; ++k) {
    F first = math::fma(at, curvature, slope), second = curvature;  // derivatives
    each_row<P>(w, [&](F weight, F y, F next_y) DRL_LAMBDA {
      const F change = next_y - y, here = math::fma(at, change, y), push = pushing(weight * change, here);
      first = math::fma(push, here, first), second = math::fma(push, change, second);
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
  for (int i = 0; i < P::nv; ++i) next[i] = math::select(is_back, math::fma(at, next[i] - qacc[i], qacc[i]), next[i]);
  each_residual<P>(
      w, [&](F y, F& next_y) DRL_LAMBDA { next_y = math::select(is_back, math::fma(at, next_y - y, y), next_y); });
  each_cone<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA { cone.go_back(residuals, is_back, at); });
  each_friction<P>(w, [&](const DryFriction&, FrictionRow<F>& row) DRL_LAMBDA { row.go_back(is_back, at); });
}

// The rows that push become the next ones, and so does what contacts add to bodies.
template <class P>
DRL_HD_CALLED void take_next(typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const F *y = w.y + c * P::Work::kOfContact, *next_y = w.next_y + c * P::Work::kOfContact;
      F change[P::kEdges];
      Mask<F> differs = F(0) != F(0);
      for (int e = 0; e < P::kEdges; ++e) {
        const F weight = edge_weight<P>(w.weight[c], e);
        change[e] = pushing(weight, edge_residual<P>(next_y, e)) - pushing(weight, edge_residual<P>(y, e));
        differs = differs | (change[e] != F(0));
      }
      const ContactPoint& point = P::point(c);
      if (any(differs)) P::add_coupling(point, w.contact[c].row, change, w.body[point.body].coupling);
    }
  each_residual<P>(w, [&](F& y, F next_y) DRL_LAMBDA { y = next_y; });
  each_cone<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA { cone.take_next(residuals); });
  each_friction<P>(w, [&](const DryFriction& friction, FrictionRow<F>& row) DRL_LAMBDA { row.take_next(friction); });
  if constexpr (P::kCones > 0) {
    P::no_coupling(w);
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      w.cone[t].add_coupling(point.dimensions, w.body[point.body].coupling);
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
  if constexpr (P::kParameters > 0)
    w.own = stage.own, P::smooth(stage.qpos, stage.qvel, stage.ctrl, stage.own, w);
  else
    P::smooth(stage.qpos, stage.qvel, stage.ctrl, w);
  P::into_solver(w, warm_start, stage.qacc);
  solve<P>(w, stage.qvel, stage.qacc, stage.unsolved);
  if constexpr (P::kImplicitDamping) P::damp(w, stage.qacc, damped);
  if constexpr (P::kFreeTurn > 0) {
    P::out_of_solver(w, stage.qacc, stage.qacc);
    if constexpr (P::kImplicitDamping) P::out_of_solver(w, damped, damped);
  }
}

// Of elliptic cones, and of what contact sensors feel.
template <class P>
DRL_HD void find_cone_forces(typename P::Work& w, typename P::Stage& stage) {
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
    w.cone[t].add_wrench(point.dimensions, w.forces.wrench[point.frame], sensed ? sensed + 1 : nullptr);
    if (sensed) sensed[0] = sensed[0] + math::select(w.contact[c].touch.distance < F(point.margin), F(1), F(0));
  }
}

// The forces of limits and contacts in the solution that the work holds, into the work; what contact sensors feel.
template <class P>
DRL_HD_CALLED void find_forces(typename P::Work& w, [[maybe_unused]] typename P::Stage& stage) {
  using F = typename P::Number;
  for (auto& wrench : w.forces.wrench)
    for (F& x : wrench) x = F(0);
  for (F& x : w.forces.limit) x = F(0);
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      F push[P::kEdges];
      for (int e = 0; e < P::kEdges; ++e) {
        const F y = edge_residual<P>(w.next_y + c * P::Work::kOfContact, e);
        push[e] = -(pushing(edge_weight<P>(w.weight[c], e), y) * y);
      }
      const ContactPoint& point = P::point(c);
      P::add_wrench(point, w.contact[c].row, push, w.forces.wrench[point.frame]);
    }
  if constexpr (P::kCones > 0) find_cone_forces<P>(w, stage);
  if constexpr (P::kPairs > 0) add_pair_wrenches<P>(w, w.forces.wrench);
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) {
      const F y = w.next_y[P::Work::kOfContacts + l];
      w.forces.limit[l] = -(w.limit_sign[l] * pushing(w.weight[P::kContacts + l], y) * y);
    }
  if constexpr (count_frictions<P>() > 0)
    for (int f = 0; f < P::kFrictions; ++f) w.forces.limit[P::kLimits + f] = w.friction[f].push(P::friction(f));
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
  F* damped = state.warm_start;  // has been read by then
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

// mj_step, computed in `w`. `last` is the stage that MuJoCo computed last, of which tasks see the rest; its forces are
// in `w` if they are wanted.
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
DRL_HD typename P::Forces step(typename P::State& state, const typename P::Number* ctrl, typename P::Stage& last) {
  typename P::Work w;
  step<P>(state, ctrl, last, w);
  return w.forces;
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
DRL_HD typename P::Forces look(const typename P::State& state, const typename P::Number* ctrl,
                               typename P::Stage& stage) {
  typename P::Work w;
  begin_stage<P>(state, ctrl, stage);
  solve_stage<P>(state, stage, w);
  return w.forces;
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

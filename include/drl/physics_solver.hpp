// The accelerations at which limits, dry friction, contacts and all other forces are in balance, by Newton's method.
#pragma once

#include "drl/math.hpp"
#include "drl/physics_rows.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// find_next's part for elliptic cones, whose stiffness differs a little until a solution is found: true in the lanes
// where what pushes is not what the solution took it for.
template <class P>
DRL_HD Mask<typename P::Number> find_next_cones(typename P::Work& w, const typename P::Number* qacc) {
  using F = typename P::Number;
  constexpr double kSame = sizeof(Scalar<F>) == 4 ? 1e-5 : 1e-13;
  if constexpr (P::kCones > 0) {
    if (w.touches > 0) P::accelerations(w, qacc);
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      FloorCone<F>& cone = w.cone[w.touching[t]];
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

// Residuals at qacc, and the floor contacts of which other edges push there than did; true in the lanes where any row
// is another one.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> find_next(typename P::Work& w, const typename P::Number* qacc) {
  using F = typename P::Number;
  using Work = typename P::Work;
  Mask<F> differs = F(0) != F(0);
  const auto changes = [](const F& weight, const F& y, const F& next_y)
                           DRL_LAMBDA { return pushing(weight, next_y) != pushing(weight, y); };
  if constexpr (P::kContacts > 0) {
    P::accelerations(w, qacc);
    int number = 0;
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ContactPoint& point = P::point(c);
      F *y = w.y + c * Work::kOfContact, *next_y = w.next_y + c * Work::kOfContact;
      P::contact_edges(point, w.contact[c].row, w.body[point.body].motion, next_y);
      Mask<F> changed = F(0) != F(0);
      for (int e = 0; e < P::kEdges; ++e)
        changed = changed | changes(w.weight[c], edge_residual<P>(y, e), edge_residual<P>(next_y, e));
      if constexpr (asks_for_changes<P>()) {
        w.changed[number] = static_cast<uint16_t>(c);
        number += any(changed) ? 1 : 0;
      }
      differs = differs | changed;
    }
    w.changes = number;
  }
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = Work::kOfContacts + l;
      w.next_y[r] = math::fma(w.limit_sign[l], qacc[P::limited(l)], w.limit_rest[l]);
      differs = differs | changes(w.weight[P::kContacts + l], w.y[r], w.next_y[r]);
    }
  if constexpr (P::kPairRows > 0)
    for (int s = 0; s < w.pair_rows; ++s) {
      const PairRow<F, P::nv>& row = w.pair_row[s];
      const int r = Work::kFixedRows + s;
      w.next_y[r] = long_dot<P::nv>(row.along, qacc, row.rest);
      differs = differs | changes(w.weight[Work::kFixedWeights + s], w.y[r], w.next_y[r]);
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
  constexpr int kSteps = is_bent<P>() ? 20 : 10;
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
    if constexpr (is_bent<P>()) is_inside = is_inside & (math::abs(newton - at) < F(0.5) * moved);
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

// The rows that push become the next ones, and so does what contacts add to bodies; but in solved lanes cones keep
// their stiffness, so that the last factors of a lane do not depend on how many rounds others take.
template <class P>
DRL_HD_CALLED void take_next(typename P::Work& w, [[maybe_unused]] Mask<typename P::Number> is_solved) {
  using F = typename P::Number;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < (asks_for_changes<P>() ? w.changes : w.touches); ++t) {
      int c = w.touching[t];
      if constexpr (asks_for_changes<P>()) c = w.changed[t];
      const F *y = w.y + c * P::Work::kOfContact, *next_y = w.next_y + c * P::Work::kOfContact;
      F change[P::kEdges];
      for (int e = 0; e < P::kEdges; ++e) {
        const F weight = edge_weight<P>(w.weight[c], e);
        change[e] = pushing(weight, edge_residual<P>(next_y, e)) - pushing(weight, edge_residual<P>(y, e));
      }
      const ContactPoint& point = P::point(c);
      P::add_coupling(point, w.contact[c].row, change, w.body[point.body].coupling);
    }
  each_residual<P>(w, [&](F& y, F next_y) DRL_LAMBDA { y = next_y; });
  each_cone<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA { cone.take_next(residuals, is_solved); });
  each_friction<P>(w, [&](const DryFriction& friction, FrictionRow<F>& row) DRL_LAMBDA { row.take_next(friction); });
  if constexpr (P::kCones > 0) {
    no_coupling<P>(w);
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      w.cone[w.touching[t]].add_coupling(point.dimensions, w.body[point.body].coupling);
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
// these stay the same the solution is exact. It begins with those of the last solution (begin_pushing). qacc [nv], in
// the solver's axes, is the warm start. Counts lanes that have not converged after kRounds, or touch themselves in more
// places than the work has.
template <class P>
DRL_HD_CALLED void solve(typename P::Work& w, const typename P::Number* qvel, typename P::Number* qacc,
                         typename P::Number& unsolved) {
  using F = typename P::Number;
  constexpr int kRounds = 20, kLoose = is_bent<P>() ? 0 : 5;
  // Solutions that are taken as they are. The first must be, unless it began at qacc; of rows that are quadratic whole
  // steps are enough, as a rule.
  constexpr int kWhole = !remembers<P>() ? 0 : is_bent<P>() ? 1 : 2;
  const Mask<F> has_too_many = begin_rows<P>(w, qvel);
  Mask<F> is_solved = F(0) != F(0);
  F next[P::nv];
  for (int i = 0; i < P::nv; ++i) next[i] = qacc[i];
  for (int round = 0;; ++round) {
    const Mask<F> differs = find_next<P>(w, next);
    const bool is_last = round > 0 && (!any(differs) || round == kRounds);
    if (is_last) unsolved = unsolved + math::select(differs | has_too_many, F(1), F(0));
    if (!is_last && round > kWhole) search_line<P>(w, qacc, next, differs, round < kLoose ? 0.5 : 0.01);
    for (int i = 0; i < P::nv; ++i) qacc[i] = next[i];
    if (is_last) return;
    if (round == 0) begin_pushing<P>(w);
    if constexpr (P::kCones + P::kPairCones > 0)
      if (round > 0) is_solved = is_solved | !differs;
    take_next<P>(w, is_solved);
    balance<P>(w, next);
    // Where cones push, a solution would change a little with each round that other lanes take.
    if constexpr (P::kCones + P::kPairCones > 0) {
      for (int i = 0; i < P::nv; ++i) next[i] = math::select(is_solved, qacc[i], next[i]);
    }
  }
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

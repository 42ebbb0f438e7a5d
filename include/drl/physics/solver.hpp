// Newton's method for the accelerations at which limits, dry friction, contacts and all other forces are in balance.
#pragma once

#include "drl/math.hpp"
#include "drl/physics/adhesion.hpp"
#include "drl/physics/rows.hpp"

namespace drl::inline DRL_ISA::physics {

// The part of find_next for contacts between bodies that move, and for elliptic cones, whose stiffness changes a little
// until a solution is found. Only environments whose bits are set in `envs` are still unsolved. Returns the lanes in
// which the forces differ from those that the solution assumed.
template <class P>
DRL_HD Mask<typename P::Number> find_next_contacts(typename P::Work& w, const typename P::Number* qacc,
                                                   [[maybe_unused]] uint32_t envs, [[maybe_unused]] bool is_end) {
  using F = typename P::Number;
  // Relative, of forces; in double, what rounding leaves. It may leave more (1.5e-12 was seen): a solution that has not
  // become better until the last iteration is accepted with 4e-12. Rounding changes the forces of stiff contacts more.
  constexpr double kSame = !kIsDouble<F> ? (P::kStiff ? 1e-4 : 1e-5) : P::kWide && !P::kWideForNoslip ? 1e-9 : 1e-12;
  [[maybe_unused]] Scalar<F> size_of[kLanesOf<F>] = {}, error_of[kLanesOf<F>] = {};
  [[maybe_unused]] uint32_t differs = 0;
  if constexpr (P::kPairs > 0) differs = find_next_pairs<P>(w, qacc, envs, size_of, error_of);
  if constexpr (!P::kElliptic) {
    if constexpr (P::kPairs > 0) return lanes_of_bits<F>(differs);
    return F(0) != F(0);
  } else {
    if constexpr (P::kCones > 0) {
      if (P::kGround == 0 && w.touches > 0) P::accelerations(w, qacc);
      for (int t = 0; t < w.touches; ++t) {
        const ConePoint& point = P::cone(w.touching[t]);
        FloorCone<F>& cone = w.cone[w.touching[t]];
        with_residuals<P>(point.dimensions, [&](auto residuals) DRL_LAMBDA {
          cone.along(w.body[point.body].motion, residuals, cone.rest, cone.next_u);
        });
      }
    }
    F size = load<F>(size_of), error = load<F>(error_of);
    each_friction_of_body<P>(w, [&](int residuals, Cone<F>& cone) DRL_LAMBDA {
      cone.find_next(residuals);
      cone.compare(residuals, size, error);
    });
    if constexpr (kIsDouble<F>) size = is_end ? F(16) * size : size;
    // In solved lanes, contacts of pairs are not visited.
    return ((F(kSame * kSame) * size < error) & lanes_of_bits<F>(envs)) | lanes_of_bits<F>(differs);
  }
}

// Computes the residuals at qacc, and lists the floor contacts whose active edges change there. Returns the lanes in
// which any row becomes active or inactive. is_end: this is the last iteration.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> find_next(typename P::Work& w, const typename P::Number* qacc, uint32_t envs,
                                                 bool is_end) {
  using F = typename P::Number;
  using Work = typename P::Work;
  Mask<F> differs = F(0) != F(0);
  const auto changes = [](const F& weight, const F& y, const F& next_y)
                           DRL_LAMBDA { return active_weight(weight, next_y) != active_weight(weight, y); };
  if constexpr (P::kContacts + P::kGround > 0) P::accelerations(w, qacc);
  if constexpr (P::kGround > 0) differs = differs | find_next_ground<P>(w);
  if constexpr (P::kContacts > 0) {
    int number = 0;
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ContactPoint& point = P::point(c);
      const auto y = w.y + c * Work::kResidualsPerContact, next_y = w.next_y + c * Work::kResidualsPerContact;
      P::contact_edges(point, w.contact[c].row, w.body[point.body].motion, next_y);
      Mask<F> changed = F(0) != F(0);
      for (int e = 0; e < P::kEdges; ++e)
        changed = changed | changes(w.weight[c], edge_residual<P>(y, e), edge_residual<P>(next_y, e));
      if constexpr (tracks_changes<P>()) {
        w.changed[number] = static_cast<uint16_t>(c);
        number += any(changed) ? 1 : 0;
      }
      differs = differs | changed;
    }
    w.changes = number;
  }
  [[maybe_unused]] F along[P::nv + P::kTendons];  // accelerations along qvel, and of tendons with rows
  if constexpr (P::kTendons > 0) P::tendons(w, qacc, along + P::nv);
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = Work::kContactResiduals + l, moved = P::limited(l);
      const F* of = qacc;
      if constexpr (P::kTendons > 0) of = moved < P::nv ? qacc : along;
      w.next_y[r] = math::fma(w.limit_sign[l], of[moved], w.limit_rest[l]);
      const Mask<F> changed = changes(w.weight[P::kContacts + l], w.y[r], w.next_y[r]);
      differs = differs | changed;
    }
  }
  if constexpr (P::kPairs > 0 || has_cones<P>()) differs = differs | find_next_contacts<P>(w, qacc, envs, is_end);
  if constexpr (P::kFrictions > 0) {
    P::out_of_solver(w, qacc, along);
    each_friction<P>(w, [&](const auto& friction, FrictionRow<F>& row) DRL_LAMBDA {
      row.next_y = along[friction.dof] + row.rest;
      differs = differs | row.differs(friction);
    });
  }
  return differs;
}

// Searches the line from `qacc` to its Newton step `next`, in these lanes. The cost is convex, and quadratic between
// the residuals' changes of sign. A lane moves back from `next` until its slope is at most `enough` times that at the
// start. `next` and its residuals become those of the point that was found. Returns the slope at the start, which is
// twice what Newton's step would lower a quadratic cost by.
template <class P>
DRL_HD_CALLED typename P::Number search_line(typename P::Work& w, const typename P::Number* qacc,
                                             typename P::Number* next, Mask<typename P::Number> lanes, double enough) {
  using F = typename P::Number;
  constexpr int kSteps = has_cones_or_friction<P>() ? 20 : 10;
  F curvature;
  P::curvature(w, qacc, next, curvature);
  // slope: the slope at qacc of the cost without the rows. It is computed from the condition that the slope of the
  // whole cost is 0 at `next` if the active rows stay the same. start: the magnitude of the whole cost's slope at qacc,
  // which for a Newton step equals the cost's curvature.
  F slope = -curvature, start = curvature;
  each_row<P>(w, [&](F weight, F y, F next_y) DRL_LAMBDA {
    const F change = next_y - y, push = active_weight(weight, y) * change;
    slope = math::fma(-push, next_y, slope), start = math::fma(push, change, start);
  });
  each_friction_of_body<P>(
      w, [&](int residuals, const auto& contact) DRL_LAMBDA { contact.begin_line(residuals, slope, start); });
  each_friction<P>(w, [&](const auto&, const FrictionRow<F>& row) DRL_LAMBDA { row.begin_line(slope, start); });
  if constexpr (P::kPairs > 0)
    sum_over_pairs<P>(w, lane_bits(lanes), slope, start, [](const auto& contacts, F& of_slope, F& of_start) DRL_LAMBDA {
      contacts.begin_line(P::kPairDimensions, of_slope, of_start);
    });
  F low = F(0), high = F(1), at = F(1), moved = F(4);
  Mask<F> goes_on = lanes;
  for (int k = 0; k < kSteps; ++k) {
    F first = math::fma(at, curvature, slope), second = curvature;  // derivatives
    each_row<P>(w, [&](F weight, F y, F next_y) DRL_LAMBDA {
      const F change = next_y - y, here = math::fma(at, change, y), push = active_weight(weight * change, here);
      first = math::fma(push, here, first), second = math::fma(push, change, second);
    });
    each_friction_of_body<P>(
        w, [&](int residuals, const auto& contact) DRL_LAMBDA { contact.add_slopes(residuals, at, first, second); });
    each_friction<P>(w, [&](const auto& friction, const FrictionRow<F>& row)
                            DRL_LAMBDA { row.add_slopes(friction, at, first, second); });
    if constexpr (P::kPairs > 0)
      sum_over_pairs<P>(w, lane_bits(goes_on), first, second,
                        [&](const auto& contacts, F& of_first, F& of_second) DRL_LAMBDA {
                          contacts.add_slopes(P::kPairDimensions, contacts.of_each(at), of_first, of_second);
                        });
    const F steep = F(enough) * start;
    goes_on = goes_on & ((steep < first) | (first < -steep)) & ((at < F(1)) | (F(0) < first));
    if (!any(goes_on)) break;
    low = math::select(first < F(0), at, low), high = math::select(first < F(0), high, at);
    const F newton = at - first / second;
    Mask<F> is_inside = (low < newton) & (newton < high);
    // The slope of a cone or of dry friction may rise steeply between flat parts, and Newton's step from one flat part
    // leads to the other.
    if constexpr (has_cones_or_friction<P>()) is_inside = is_inside & (math::abs(newton - at) < F(0.5) * moved);
    const F next_at = math::select(is_inside, newton, F(0.5) * (low + high));
    moved = math::abs(next_at - at), at = math::select(goes_on, next_at, at);
  }
  const Mask<F> is_back = lanes & (at < F(1));
  if (!any(is_back)) return start;
  DRL_ROLLED
  for (int i = 0; i < P::nv; ++i) next[i] = math::select(is_back, math::fma(at, next[i] - qacc[i], qacc[i]), next[i]);
  each_residual<P>(
      w, [&](F y, F& next_y) DRL_LAMBDA { next_y = math::select(is_back, math::fma(at, next_y - y, y), next_y); });
  each_friction_of_body<P>(w,
                           [&](int residuals, auto& contact) DRL_LAMBDA { contact.go_back(residuals, is_back, at); });
  each_friction<P>(w, [&](const auto&, FrictionRow<F>& row) DRL_LAMBDA { row.go_back(is_back, at); });
  if constexpr (P::kPairs > 0) move_pairs_back<P>(w, is_back, at);
  return start;
}

// Makes the next residuals the current ones, and updates the contacts' contribution to bodies. In solved lanes, cones
// keep their stiffness, so that a lane's last factors do not depend on the number of iterations that other lanes need.
template <class P>
DRL_HD_CALLED void take_next(typename P::Work& w, [[maybe_unused]] Mask<typename P::Number> is_solved) {
  using F = typename P::Number;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < (tracks_changes<P>() ? w.changes : w.touches); ++t) {
      int c = w.touching[t];
      if constexpr (tracks_changes<P>()) c = w.changed[t];
      const auto y = w.y + c * P::Work::kResidualsPerContact, next_y = w.next_y + c * P::Work::kResidualsPerContact;
      F change[P::kEdges];
      for (int e = 0; e < P::kEdges; ++e) {
        const F weight = edge_weight<P>(w.weight[c], e);
        change[e] = active_weight(weight, edge_residual<P>(next_y, e)) - active_weight(weight, edge_residual<P>(y, e));
      }
      const ContactPoint& point = P::point(c);
      P::add_coupling(point, w.contact[c].row, change, w.body[point.body].coupling);
    }
  if constexpr (P::kGround > 0 && !P::kElliptic) take_next_pyramids<P>(w);
  if constexpr (P::kPairs > 0) take_next_pairs<P>(w, lane_bits(!is_solved) & kAllLanes<F>);
  each_residual<P>(w, [&](F& y, F next_y) DRL_LAMBDA { y = next_y; });
  each_friction_of_body<P>(w,
                           [&](int residuals, auto& contact) DRL_LAMBDA { contact.take_next(residuals, is_solved); });
  each_friction<P>(w, [&](const auto& friction, FrictionRow<F>& row) DRL_LAMBDA { row.take_next(friction); });
  if constexpr (P::kCones + (P::kElliptic ? P::kGround : 0) > 0) clear_coupling<P>(w);
  if constexpr (P::kElliptic && P::kGround > 0) add_ground_cones<P>(w);
  if constexpr (P::kCones > 0) {
    for (int t = 0; t < w.touches; ++t) {
      const ConePoint& point = P::cone(w.touching[t]);
      with_residuals<P>(point.dimensions, [&](auto residuals) DRL_LAMBDA {
        w.cone[w.touching[t]].add_coupling(residuals, w.body[point.body].coupling);
      });
    }
  }
}

// Tells the lanes in which rounding hides what further iterations would gain, from the slope at the start of each line.
template <class F>
struct Progress {
  F most = F(0), least = F(1e30), stalls = F(0);
  // Returns the lanes in which two iterations in a row have not halved the least slope of this solution. Slow progress
  // far from the solution does not count.
  DRL_HD Mask<F> has_ended(const F& slope) {
    most = math::max(most, slope);
    const Mask<F> stalled = (slope < F(1e-5) * most) & (F(0.5) * least < slope);
    stalls = math::select(stalled, stalls + F(1), F(0));
    least = math::min(least, slope);
    return F(1) < stalls;
  }
};

// True if the matrix of solved lanes is not needed any more, so that chains that touch only there are left out.
template <class P>
constexpr bool forgets_solved_lanes() {
  return P::kPairs > 0 && kLanesOf<typename P::Number> > 1 && !P::kExactDistances;  // refine() needs all factors
}
// Computes the accelerations at which forces are in balance for the active rows of the work.
template <class P>
DRL_HD void balance(typename P::Work& w, typename P::Number* qacc) {
  if constexpr (P::kPairs > 0) {
    P::assemble(w, w.matrix + 0, qacc);
    add_pairs<P>(w, w.matrix + 0, qacc);
    ChainMatrix matrix(w.coupled_chains, w.matrix + 0, w.inverse + 0);
    matrix.factorise(), matrix.solve(qacc);
  } else {
    P::newton(w, qacc);
  }
}

// Minimises the cost of limits and contacts by Newton's method on the active rows. The solution is exact once the
// active rows stay the same. The first guess comes from the last solution (guess_active_rows). qacc [nv], in the
// solver's axes, is the warm start on entry. Adds 1 to `unsolved` in lanes that have not converged after kIterations or
// have more contacts between geoms than `w` has places for, or stiffer ones than random motion.
template <class P>
DRL_HD_CALLED void solve(typename P::Work& w, const typename P::Number* qvel, typename P::Number* qacc,
                         typename P::Number& unsolved) {
  using F = typename P::Number;
  // Stiff contacts may need more than 20 iterations.
  constexpr int kIterations = P::kWide || P::kStiff ? 100 : 20, kLooseIterations = has_cones_or_friction<P>() ? 0 : 5;
  // The number of first solutions that are accepted without a line search. The first one is not on a line from qacc if
  // the guess came from the last solution. Full steps are usually enough for quadratic rows.
  constexpr int kFullSteps = !reuses_active_rows<P>() ? 0 : has_cones_or_friction<P>() ? 1 : 2;
  // The forces of cones in float go on changing a little. Pyramids are solved once their active rows stay the same.
  constexpr bool kEndsInRounding = has_cones<P>() && !kIsDouble<F>;
  const Mask<F> has_too_many = begin_rows<P>(w, qvel);
  if constexpr (P::kAdhesions > 0) find_adhesion<P>(w);
  Mask<F> is_solved = F(0) != F(0);
  [[maybe_unused]] uint32_t coupled = kAllLanes<F>;  // the lanes whose touching chains the matrix couples
  [[maybe_unused]] Progress<F> progress;
  [[maybe_unused]] Mask<F> has_ended = is_solved;
  F next[P::nv];
  DRL_ROLLED
  for (int i = 0; i < P::nv; ++i) next[i] = qacc[i];
  for (int iteration = 0;; ++iteration) {
    Mask<F> differs = find_next<P>(w, next, lane_bits(!is_solved) & kAllLanes<F>, iteration == kIterations);
    if constexpr (kEndsInRounding) differs = differs & !has_ended;
    const bool is_last = iteration > 0 && (!any(differs) || iteration == kIterations);
    if (is_last) unsolved = unsolved + math::select(differs | has_too_many, F(1), F(0));
    if (!is_last && iteration > kFullSteps) {
      const F slope = search_line<P>(w, qacc, next, differs, iteration < kLooseIterations ? 0.5 : 0.01);
      // These lanes accept the next solution, whose residuals do not depend on the way there.
      if constexpr (kEndsInRounding) has_ended = has_ended | (differs & progress.has_ended(slope));
    }
    DRL_ROLLED
    for (int i = 0; i < P::nv; ++i) qacc[i] = next[i];
    if (is_last) return;
    if (iteration == 0) guess_active_rows<P>(w);
    if (iteration > 0) is_solved = is_solved | !differs;
    take_next<P>(w, is_solved);
    if constexpr (forgets_solved_lanes<P>())
      if (const uint32_t left = lane_bits(!is_solved) & kAllLanes<F>; 2 * count_bits(left) <= count_bits(coupled))
        couple_chains<P>(w, left), coupled = left;
    balance<P>(w, next);
    // Without this, a solution with active cones would change a little in each iteration that other lanes need.
    if constexpr (has_cones<P>() || forgets_solved_lanes<P>()) {
      DRL_ROLLED
      for (int i = 0; i < P::nv; ++i) next[i] = math::select(is_solved, qacc[i], next[i]);
    }
  }
}

}  // namespace drl::inline DRL_ISA::physics

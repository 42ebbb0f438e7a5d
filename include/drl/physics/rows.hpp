// The constraint rows of a solution (limits, contacts, cones and dry friction), and the guess with which the solver
// begins.
#pragma once

#include "drl/math.hpp"
#include "drl/physics/work.hpp"

namespace drl::inline DRL_ISA::physics {

// For a robot that moves in a plane, the last edge of a contact represents two.
template <class P, class F>
DRL_HD F edge_weight(F weight, int edge) {
  return P::kEdges == 3 && edge == 2 ? F(2) * weight : weight;
}
// Returns the residual of an edge of the contact whose residuals are y.
template <class P, class Residuals>
DRL_HD typename P::Number edge_residual(const Residuals& y, int edge) {
  if constexpr (P::kEdges == 3)
    return edge == 0 ? y[0] + y[1] : edge == 1 ? y[0] - y[1] : y[0];
  else
    return y[edge];
}

// Computes the forces along the edges of a contact with the floor.
template <class P, class F>
DRL_HD void find_push(const typename P::Work& w, int c, F* push) {
  for (int e = 0; e < P::kEdges; ++e) {
    const F y = edge_residual<P>(w.next_y + c * P::Work::kResidualsPerContact, e);
    push[e] = -(active_weight(edge_weight<P>(w.weight[c], e), y) * y);
  }
}

// Calls body(weight, y, next_y) for each row of the current contacts with the floor and of the limits.
template <class P, class Body>
DRL_HD void each_row(typename P::Work& w, const Body& body) {
  using Work = typename P::Work;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t], r = c * Work::kResidualsPerContact;
      DRL_ROLLED
      for (int e = 0; e < P::kEdges; ++e)
        body(edge_weight<P>(w.weight[c], e), edge_residual<P>(w.y + r, e), edge_residual<P>(w.next_y + r, e));
    }
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = Work::kContactResiduals + l;
      body(w.weight[P::kContacts + l], w.y[r], w.next_y[r]);
    }
  }
}

// Calls body(y, next_y) for each residual of these rows.
template <class P, class Body>
DRL_HD void each_residual(typename P::Work& w, const Body& body) {
  using Work = typename P::Work;
  if constexpr (P::kContacts > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int r = w.touching[t] * Work::kResidualsPerContact;
      for (int k = 0; k < Work::kResidualsPerContact; ++k) body(w.y[r + k], w.next_y[r + k]);
    }
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int r = Work::kContactResiduals; r < Work::kRows; ++r) body(w.y[r], w.next_y[r]);
  }
}

// True if the robot has contacts in elliptic cones.
template <class P>
constexpr bool has_cones() {
  return P::kElliptic && P::kCones + P::kGround + (P::kPairDimensions > 1 ? P::kPairContacts : 0) > 0;
}
// Calls body(residuals, contact) for each current contact with the floor in an elliptic cone, and with the world, with
// constants as residuals (with_residuals). One loop visits both, so that the body is compiled once for each of them.
template <class P, class Work, class Body>
DRL_HD void each_friction_of_body([[maybe_unused]] Work& w, const Body& body) {
  if constexpr (P::kCones + P::kGround > 0) {
    const int of_floor = P::kCones > 0 ? w.touches : 0;
    for (int t = 0; t < of_floor + (P::kGround > 0 ? w.grounded : 0); ++t) {
      int residuals = kResiduals;
      std::conditional_t<(P::kGround > 0), ContactFriction<typename P::Number, P>, Cone<typename P::Number>>* contact =
          nullptr;
      if constexpr (P::kCones > 0)
        if (t < of_floor) residuals = P::cone(w.touching[t]).dimensions, contact = w.cone + w.touching[t];
      if constexpr (P::kGround > 0)
        if (t >= of_floor) {
          const auto& on_ground = w.on_ground[t - of_floor];
          residuals = P::pair(on_ground.pair).dimensions, contact = w.ground + on_ground.place;
        }
      with_residuals<P>(residuals, [&](auto number) DRL_LAMBDA { body(number, *contact); });
    }
  }
}

// Calls body(friction, row) for each degree of freedom with dry friction.
template <class P, class Work, class Body>
DRL_HD void each_friction(Work& w, const Body& body) {
  if constexpr (P::kFrictions > 0)
    for (int f = 0; f < P::kFrictions; ++f) body(friction_of<P>(f, w), w.friction[f]);
}

// True if the robot has elliptic cones or dry friction, whose cost is not quadratic between changes of sign of the
// residuals.
template <class P>
constexpr bool has_cones_or_friction() {
  return has_cones<P>() || P::kFrictions > 0;
}
// True if a solution begins with the rows that were active in the last one.
template <class P>
constexpr bool reuses_active_rows() {
  return P::kFrictions == 0;
}

// True if contacts whose active edges did not change are skipped. For a contact in a plane the check costs more than
// the update.
template <class P>
constexpr bool tracks_changes() {
  return P::kContacts > 0 && P::kEdges != 3;
}

// Sets the contacts' contribution to all bodies to 0.
template <class P>
DRL_HD void clear_coupling(typename P::Work& w) {
  using F = typename P::Number;
  for (auto& body : w.body) {
    DRL_ROLLED
    for (F& x : body.coupling) x = F(0);
  }
}

// The margin and the hardness of a contact with the floor, in a pyramid or a cone.
template <class P>
DRL_HD double margin_of(int c) {
  if constexpr (P::kCones > 0)
    return P::cone(c).margin;
  else
    return P::point(c).margin;
}
template <class P>
DRL_HD typename P::Number& hardness_of(typename P::Work& w, int c) {
  if constexpr (P::kCones > 0)
    return w.cone[c].hardness;
  else
    return w.weight[c];
}

// Finds the floor contacts that exist in some lane. Sets the hardness of those that do not exist to 0; the others keep
// theirs, which is 0 unless they were part of the last solution.
template <class P>
DRL_HD void find_touching(typename P::Work& w) {
  using F = typename P::Number;
  int touches = 0;
  for (int c = 0; c < P::kContacts + P::kCones; ++c) {
    const Mask<F> is_here = w.contact[c].touch.distance < F(margin_of<P>(c));
    F& hardness = hardness_of<P>(w, c);
    hardness = math::select(is_here, hardness, F(0));
    w.touching[touches] = static_cast<uint16_t>(c);
    touches += any(is_here) ? 1 : 0;  // not a branch, which would be mispredicted half of the time
  }
  w.touches = touches;
}

// Clears what remains of the last solution.
template <class P>
DRL_HD void clear_last_solution(typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (P::kContacts + P::kCones > 0) {
    DRL_ROLLED
    for (int c = 0; c < P::kContacts + P::kCones; ++c) hardness_of<P>(w, c) = F(0);
  }
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int l = 0; l < P::kLimits; ++l) w.next_y[P::Work::kContactResiduals + l] = F(0);
  }
  if constexpr (P::kGround > 0) w.grounded = 0, w.ground_step += 1;
}

// Computes the rows of the contacts that exist in some lane. Their residuals y (or u) become those of the last
// solution, or 0 (not active) for contacts that were not part of it. Returns the lanes that have too many contacts, or
// too stiff ones.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> begin_rows(typename P::Work& w, const typename P::Number* qvel) {
  using F = typename P::Number;
  Mask<F> has_too_many = F(0) != F(0);
  if (!w.has_solution) clear_last_solution<P>(w);
  w.has_solution = true;
  if constexpr (P::kContacts + P::kCones > 0) find_touching<P>(w);
  if constexpr (P::kStiffer && P::kContacts + P::kCones > 0)
    for (int t = 0; t < w.touches; ++t)
      has_too_many = has_too_many | (w.contact[w.touching[t]].touch.distance < F(P::deepest(w.touching[t])));
  if constexpr (P::kContacts > 0) {
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ContactPoint& point = P::point(c);
      const Mask<F> was_here = F(0) < w.weight[c];
      const typename P::template Touch<F> touch = w.contact[c].touch;
      if constexpr (P::kEdgesVary) {
        const F friction = sliding_friction(point.friction, point.varies, w.parameters);
        P::contact_row(point, friction, touch, w.body[point.body].motion, w.contact[c].row, w.weight[c]);
      } else {
        P::contact_row(point, touch, w.body[point.body].motion, w.contact[c].row, w.weight[c]);
      }
      if constexpr (P::kConstants > 0) w.weight[c] = w.weight[c] / weight_ratio_of_frame<P>(w, point.frame);
      const auto y = w.y + c * P::Work::kResidualsPerContact, last_y = w.next_y + c * P::Work::kResidualsPerContact;
      for (int k = 0; k < P::Work::kResidualsPerContact; ++k) y[k] = math::select(was_here, last_y[k], F(0));
    }
  }
  if constexpr (P::kGround > 0) has_too_many = P::kStiffer ? has_too_many | begin_ground<P>(w) : begin_ground<P>(w);
  if constexpr (P::kContacts + (P::kElliptic ? 0 : P::kGround) > 0) clear_coupling<P>(w);
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int l = 0; l < P::kLimits; ++l) w.y[P::Work::kContactResiduals + l] = w.next_y[P::Work::kContactResiduals + l];
  }
  if constexpr (P::kCones > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ConePoint& point = P::cone(c);
      const Mask<F> was_here = F(0) < w.cone[c].hardness;
      w.cone[c].begin(point, w.contact[c].touch, w.body[point.body].motion, parameters_of<P>(w), P::regularised);
      if constexpr (P::kConstants > 0)
        w.cone[c].hardness = w.cone[c].hardness / weight_ratio_of_frame<P>(w, point.frame);
      w.cone[c].begin_solution(was_here);
    }
  if constexpr (P::kPairs > 0) {
    F turned[P::nv];
    P::into_solver(w, qvel, turned);
    has_too_many = has_too_many | begin_pairs<P>(w, turned);
  }
  for (int k = 0; k < P::kHeightFields; ++k)
    if constexpr (P::kHeightFields > 0)  // heights that nobody has set count as not solved
      if (w.fields.height_maps[k].heights == nullptr) has_too_many = F(0) == F(0);
  each_friction<P>(w, [&](const auto&, FrictionRow<F>& row) DRL_LAMBDA { row.begin_solution(); });
  return has_too_many;
}

// Chooses the rows that the first solution takes as active, by setting next_y; sets y to 0, because nothing pushes yet.
// The guess is the residuals at the warm start, except for contacts and limits that were active in the last solution:
// most of them are active again. Since these constraints are hard, their residuals are small, and the residuals at the
// last accelerations, which do not account for the new velocity, often have the wrong sign. A constraint of impedance d
// cancels all but about a fraction 1 - d of the acceleration that drives it. Therefore next_y moves only that fraction
// from y towards the residual at the warm start. Cones, for which the fraction is smaller, keep their last residuals.
template <class P>
DRL_HD void guess_active_rows(typename P::Work& w) {
  using F = typename P::Number;
  constexpr double kShare = 0.05;
  const auto take = [](Mask<F> pushed, F& y, F& next_y) DRL_LAMBDA {
    if constexpr (reuses_active_rows<P>()) next_y = math::select(pushed, math::fma(F(kShare), next_y - y, y), next_y);
    y = F(0);
  };
  if constexpr (P::kContacts > 0) {
    w.changes = w.touches;
    for (int t = 0; t < w.touches; ++t) {
      const int r = w.touching[t] * P::Work::kResidualsPerContact;
      if constexpr (tracks_changes<P>()) w.changed[t] = w.touching[t];
      Mask<F> pushed = F(0) != F(0);
      for (int e = 0; e < P::kEdges; ++e) pushed = pushed | (edge_residual<P>(w.y + r, e) < F(0));
      for (int k = 0; k < P::Work::kResidualsPerContact; ++k) take(pushed, w.y[r + k], w.next_y[r + k]);
    }
  }
  if constexpr (P::kLimits > 0) {
    DRL_ROLLED
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = P::Work::kContactResiduals + l;
      take(w.y[r] < F(0), w.y[r], w.next_y[r]);
    }
  }
  if constexpr (reuses_active_rows<P>())
    each_friction_of_body<P>(w,
                             [&](int residuals, auto& contact) DRL_LAMBDA { contact.reuse_last(residuals, kShare); });
}

}  // namespace drl::inline DRL_ISA::physics

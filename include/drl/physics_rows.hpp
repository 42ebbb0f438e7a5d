// The rows of limits and contacts, cones and dry friction that a solution is made of, and where it begins.
#pragma once

#include "drl/math.hpp"
#include "drl/physics_work.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

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
  if constexpr (P::kPairRows > 0)
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

// Calls body(residuals, cone) for each contact in an elliptic cone that is there: those of the floor and of pairs in
// one loop, so that the body is compiled once.
template <class P, class Work, class Body>
DRL_HD void each_cone([[maybe_unused]] Work& w, const Body& body) {
  if constexpr (P::kCones + P::kPairCones == 0) return;
  const int of_floor = P::kCones > 0 ? w.touches : 0;
  for (int t = 0; t < of_floor + w.pair_cones; ++t) {
    int residuals = kResiduals;
    Cone<typename P::Number>* cone = nullptr;
    if constexpr (P::kPairCones > 0) cone = w.pair_cone + (t < of_floor ? 0 : t - of_floor);
    if constexpr (P::kCones > 0)
      if (t < of_floor) residuals = P::cone(w.touching[t]).dimensions, cone = w.cone + w.touching[t];
    body(residuals, *cone);
  }
}

// Calls body(friction, row) for each joint's dry friction.
template <class P, class Work, class Body>
DRL_HD void each_friction(Work& w, const Body& body) {
  if constexpr (count_frictions<P>() > 0)
    for (int f = 0; f < P::kFrictions; ++f) body(P::friction(f), w.friction[f]);
}

// Where elliptic cones or dry friction bend the cost between the places where it is quadratic.
template <class P>
constexpr bool is_bent() {
  return P::kCones + P::kPairCones + count_frictions<P>() > 0;
}
// Whether a solution begins with what pushed in the last one.
template <class P>
constexpr bool remembers() {
  return count_frictions<P>() == 0;
}

// Whether contacts that go on as they did are left out: what one in a plane adds takes less than to ask.
template <class P>
constexpr bool asks_for_changes() {
  return P::kContacts > 0 && P::kEdges != 3;
}

// No contact adds anything to bodies.
template <class P>
DRL_HD void no_coupling(typename P::Work& w) {
  using F = typename P::Number;
  for (auto& body : w.body)
    for (F& x : body.coupling) x = F(0);
}

// Of a floor contact, in a pyramid or a cone: its margin, and how hard it is.
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

// The floor contacts that are there in some lane. How hard they are stays as it was, where they were there before.
template <class P>
DRL_HD void find_touching(typename P::Work& w) {
  using F = typename P::Number;
  int touches = 0;
  for (int c = 0; c < P::kContacts + P::kCones; ++c) {
    const Mask<F> is_here = w.contact[c].touch.distance < F(margin_of<P>(c));
    F& hardness = hardness_of<P>(w, c);
    hardness = math::select(is_here, hardness, F(0));
    w.touching[touches] = static_cast<uint16_t>(c);
    touches += any(is_here) ? 1 : 0;  // not a branch: that would be guessed wrongly every other time
  }
  w.touches = touches;
}

// No solution before.
template <class P>
DRL_HD void forget(typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (P::kContacts + P::kCones > 0)
    for (int c = 0; c < P::kContacts + P::kCones; ++c) hardness_of<P>(w, c) = F(0);
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) w.next_y[P::Work::kOfContacts + l] = F(0);
}

// The contacts that are there in some lane. Residuals y (or u) become those of the last solution; 0, where nothing
// pushes, of contacts that were not in it. True in lanes that have too many.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> begin_rows(typename P::Work& w, const typename P::Number* qvel) {
  using F = typename P::Number;
  Mask<F> has_too_many = F(0) != F(0);
  if (!w.has_solution) forget<P>(w);
  w.has_solution = true;
  if constexpr (P::kContacts + P::kCones > 0) find_touching<P>(w);
  if constexpr (P::kContacts > 0) {
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ContactPoint& point = P::point(c);
      const Mask<F> was_here = F(0) < w.weight[c];
      const typename P::template Touch<F> touch = w.contact[c].touch;
      P::contact_row(point, touch, w.body[point.body].motion, w.contact[c].row, w.weight[c]);
      F *y = w.y + c * P::Work::kOfContact, *last_y = w.next_y + c * P::Work::kOfContact;
      for (int k = 0; k < P::Work::kOfContact; ++k) y[k] = math::select(was_here, last_y[k], F(0));
    }
    no_coupling<P>(w);
  }
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) w.y[P::Work::kOfContacts + l] = w.next_y[P::Work::kOfContacts + l];
  if constexpr (P::kCones > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      const ConePoint& point = P::cone(c);
      const Mask<F> was_here = F(0) < w.cone[c].hardness;
      w.cone[c].begin(point, w.contact[c].touch, w.body[point.body].motion, own_of<P>(w), P::regularised);
      w.cone[c].begin_solution(was_here);
    }
  if constexpr (P::kPairs > 0) {
    F turned[P::nv];
    P::into_solver(w, qvel, turned);
    has_too_many = begin_pairs<P>(w, turned);
  }
  // The places of pairs were other contacts' before.
  if constexpr (P::kPairRows > 0)
    for (int s = 0; s < w.pair_rows; ++s) w.y[P::Work::kFixedRows + s] = F(0);
  if constexpr (P::kPairCones > 0)
    for (int c = 0; c < w.pair_cones; ++c) w.pair_cone[c].begin_solution(F(0) != F(0));
  each_friction<P>(w, [&](const DryFriction&, FrictionRow<F>& row) DRL_LAMBDA { row.begin_solution(); });
  return has_too_many;
}

// What the first solution takes for pushing, into next_y; y becomes 0, since nothing pushes yet. That is what the
// residuals at the warm start say, but for contacts and limits that pushed in the last solution: these mostly do so
// again. Their residuals are small, as they are hard, and at the accelerations of then, which know nothing of how they
// react to the velocity of now, have often another sign. A constraint of impedance d undoes all but about a share 1 - d
// of what drives it: so far y goes, and of cones, where that share is smaller, not at all.
template <class P>
DRL_HD void begin_pushing(typename P::Work& w) {
  using F = typename P::Number;
  constexpr double kShare = 0.05;
  const auto take = [](Mask<F> pushed, F& y, F& next_y) DRL_LAMBDA {
    if constexpr (remembers<P>()) next_y = math::select(pushed, math::fma(F(kShare), next_y - y, y), next_y);
    y = F(0);
  };
  if constexpr (P::kContacts > 0) {
    w.changes = w.touches;
    for (int t = 0; t < w.touches; ++t) {
      const int r = w.touching[t] * P::Work::kOfContact;
      if constexpr (asks_for_changes<P>()) w.changed[t] = w.touching[t];
      Mask<F> pushed = F(0) != F(0);
      for (int e = 0; e < P::kEdges; ++e) pushed = pushed | (edge_residual<P>(w.y + r, e) < F(0));
      for (int k = 0; k < P::Work::kOfContact; ++k) take(pushed, w.y[r + k], w.next_y[r + k]);
    }
  }
  if constexpr (P::kLimits > 0)
    for (int l = 0; l < P::kLimits; ++l) {
      const int r = P::Work::kOfContacts + l;
      take(w.y[r] < F(0), w.y[r], w.next_y[r]);
    }
  if constexpr (remembers<P>()) each_cone<P>(w, [](int residuals, Cone<F>& cone) DRL_LAMBDA { cone.go_on(residuals); });
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

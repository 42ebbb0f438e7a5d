// Contacts between two geoms: where they touch, whatever their shapes are. Spheres and capsules against each other, a
// box or a plane are computed in lanes. For all other shapes, lanes only find who is near; the contacts of those are
// computed lane by lane.
#pragma once

#include "drl/physics/contacts_by_lane.hpp"
#include "drl/physics/contacts_in_lanes.hpp"
#include "drl/physics/field_contacts.hpp"
#include "drl/physics/near_pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// Calls body(pair, lanes, contact) for each contact of a pair in some of these lanes.
template <class P, class F, class Body>
DRL_HD void each_contact(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  const ContactPair& pair = P::pair(number);
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  if constexpr (P::kTurnedGeoms > 0) {
    const PairGeom &first = P::pair_geom(pair.first), &second = P::pair_geom(pair.second);
    const bool is_plane = first.kind == ShapeKind::plane;
    if constexpr (P::kHeightFields > 0)
      if (first.kind == ShapeKind::height_field) return each_contact_with_field<P, F>(w, number, lanes, body);
    if (is_plane && second.turn < 0)
      return each_contact_with_plane<P>(pair, a, b, w.geom_turn[first.turn], lanes, parameters_of<P>(w), body);
    if (first.turn < 0 && second.kind == ShapeKind::box)
      return each_contact_with_box<P>(pair, a, b, w.geom_turn[second.turn], lanes, parameters_of<P>(w), body);
    if (second.turn >= 0) {
      if constexpr (has_separations<P, F>())
        if (is_remembered<P>(pair)) lanes = lanes & !are_still_apart<P, F>(w, number, pair, lanes);
      if (any(lanes)) lanes = is_plane ? reach_plane<P, F>(w, pair, lanes) : are_near<P, F>(w, pair, lanes);
      if (any(lanes)) each_contact_by_lane<P, F>(w, number, lanes, body);
      return;
    }
  }
  each_contact_of<P>(pair, a, b, lanes, parameters_of<P>(w), body);
}
// Returns the lanes in which a contact pushes: its distance is less than the margin minus the gap.
template <class F>
DRL_HD Mask<F> pushes(const ContactPair& pair, const PairContact<F>& contact) {
  return contact.distance < F(pair.margin - pair.gap);
}
// Calls body(pair, lanes, contact) as each_contact() does, but only for the contacts that push.
template <class P, class F, class Body>
DRL_HD void each_pushing_contact(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  if constexpr (P::kHasGaps) {
    each_contact<P, F>(w, number, lanes,
                       [&](const ContactPair& pair, Mask<F> here, const PairContact<F>& contact) DRL_LAMBDA {
                         const Mask<F> pushing = here & pushes(pair, contact);
                         if (any(pushing)) body(pair, pushing, contact);
                       });
  } else {
    each_contact<P, F>(w, number, lanes, body);
  }
}
// Calls body(pair, lanes, contact) for the contacts that push or that contact sensors show.
template <class P, class F, class Body>
DRL_HD void each_sensed_contact(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  if constexpr (P::kSensesGaps)
    each_contact<P, F>(w, number, lanes, body);
  else
    each_pushing_contact<P, F>(w, number, lanes, body);
}
// Returns those of its lanes in which a contact pushes.
template <class P, class F>
DRL_HD Mask<F> pushing_lanes([[maybe_unused]] const ContactPair& pair, Mask<F> lanes,
                             [[maybe_unused]] const PairContact<F>& contact) {
  if constexpr (P::kSensesGaps)
    return lanes & pushes(pair, contact);
  else
    return lanes;
}
// Calls body(number, lanes) for each pair in the list, with the lanes in which it may touch.
template <class P, class Body>
DRL_HD void each_near_pair(const typename P::Work& w, const Body& body) {
  for (int n = 0; n < w.near_pairs; ++n) {
    const auto number = static_cast<int>(w.near_pair[n]);
    body(number, may_touch<P>(w, P::pair(number)));
  }
}
// Calls body(pair, lanes, contact) for each pushing contact of these pairs.
template <class P, class Body>
DRL_HD void each_pair_contact(const typename P::Work& w, const Body& body) {
  using F = typename P::Number;
  each_near_pair<P>(w, [&](int number, Mask<F> near) DRL_LAMBDA { each_pushing_contact<P, F>(w, number, near, body); });
}

}  // namespace drl::inline DRL_ISA::physics

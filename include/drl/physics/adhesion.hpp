// Actuators that pull a body towards what it touches (MuJoCo, "XML Reference", actuator/adhesion). The force is known
// before the contacts are, but where it acts is not: the force is divided equally among the body's contacts, and acts
// along their normals. Contacts in the gap count too, although they do not push (ContactPair::gap). So adhesion is
// added when a solution has found its contacts.
#pragma once

#include "drl/physics/pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// Calls body(pair, lanes, contact) for each contact to which some actuator adheres.
template <class P, class Body>
DRL_HD void each_adhesive_contact(const typename P::Work& w, const Body& body) {
  using F = typename P::Number;
  const auto visit = [&](int number) DRL_LAMBDA {
    const ContactPair& pair = P::pair(number);
    if (pair.adhesions == 0) return;
    const Mask<F> near = may_touch<P>(w, pair);
    if (any(near)) each_contact<P, F>(w, number, near, body);
  };
  for (int k = 0; k < P::kGroundPairs; ++k) visit(k);
  if constexpr (P::kPairs > 0)
    for (int n = 0; n < w.near_pairs; ++n) visit(static_cast<int>(w.near_pair[n]));
}

// Computes the forces of adhesion along qvel in the solver's axes, from those of the actuators. Requires the list of
// near pairs.
template <class P>
DRL_HD_CALLED void find_adhesion(typename P::Work& w) {
  using F = typename P::Number;
  F contacts[P::kAdhesions], along[P::kAdhesions][P::nv];  // of each actuator, summed over its contacts
  for (int a = 0; a < P::kAdhesions; ++a) {
    contacts[a] = F(0);
    for (F& x : along[a]) x = F(0);
  }
  each_adhesive_contact<P>(w, [&](const ContactPair& pair, Mask<F> lanes, const PairContact<F>& contact) DRL_LAMBDA {
    F wrench[P::kTrees][6], normal[P::nv];
    find_wrenches<P>(w, contact.point, contact.normal, wrench);
    find_along<P>(w, pair, wrench, normal);
    for (int a = 0; a < P::kAdhesions; ++a) {
      if ((pair.adhesions >> a & 1) == 0) continue;
      contacts[a] = contacts[a] + math::select(lanes, F(1), F(0));
      for (int i = 0; i < P::nv; ++i) along[a][i] = along[a][i] + math::select(lanes, normal[i], F(0));
    }
  });
  for (F& x : w.adhesion) x = F(0);
  for (int a = 0; a < P::kAdhesions; ++a) {
    const F of_each = w.adhesive_force[a] / math::max(contacts[a], F(1));
    for (int i = 0; i < P::nv; ++i) w.adhesion[i] = math::fma(-of_each, along[a][i], w.adhesion[i]);
  }
}

}  // namespace drl::inline DRL_ISA::physics

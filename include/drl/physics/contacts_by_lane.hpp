// Contacts of all other shapes, which are computed lane by lane (drl/physics/collide.hpp, drl/physics/multiccd.hpp).
#pragma once

#include "drl/physics/contact_pairs.hpp"
#include "drl/physics/multiccd.hpp"
#include "drl/physics/separations.hpp"

namespace drl::inline DRL_ISA::physics {

// Computes the axes of a geom of revolution as columns: z lies along a vector of this length, or anywhere if it is 0.
DRL_HD void set_axis(const double* along, double length, double (*turn)[3]) {
  double z[3] = {0, 0, 1}, x[3] = {0, 0, 0}, y[3];
  int least = 0;
  for (int k = 0; k < 3 && length > 0; ++k) z[k] = along[k] / length;
  for (int k = 1; k < 3; ++k) least = z[k] * z[k] < z[least] * z[least] ? k : least;
  for (int k = 0; k < 3; ++k) x[k] = (k == least ? 1 : 0) - z[least] * z[k];
  const double inverse = 1 / math::sqrt(dot(x, x));
  for (double& number : x) number = inverse * number;
  cross(z, x, y);
  for (int k = 0; k < 3; ++k) turn[k][0] = x[k], turn[k][1] = y[k], turn[k][2] = z[k];
}

// Returns a geom's shape in lane l, with its centre relative to that of geom `origin`. A mesh's hull stays in `hull`.
template <class P>
DRL_HD Shape shape_of(const typename P::Work& w, int g, int origin, int l, [[maybe_unused]] Hull& hull) {
  const PairGeom& geom = P::pair_geom(g);
  const auto &axis = w.geom_axis[g], &from = w.geom_axis[origin];
  Shape shape;
  for (int k = 0; k < 3; ++k) {
    shape.origin[k] = lane(from.center[k], l);
    shape.position[k] = static_cast<double>(lane(axis.center[k], l)) - shape.origin[k];
    shape.size[k] = geom.size[k];
  }
  shape.kind = geom.kind, shape.hull = nullptr;
  if (geom.turn >= 0) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) shape.turn[i][k] = lane(w.geom_turn[geom.turn].turn[i][k], l);
    if constexpr (P::kHulls > 0)
      if (geom.hull >= 0) {
        hull = P::hull(geom.hull), shape.hull = &hull;
        if constexpr (P::kMultiCcd || P::kPlanesTouchFaces) hull.faces = P::hull_faces(geom.hull);
      }
    if constexpr (P::kSizes)
      for (double& x : shape.size) x *= static_cast<double>(lane(scale_of<P>(g, w.parameters), l));
    return shape;
  }
  double half[3], square = 0;
  for (int k = 0; k < 3; ++k) half[k] = lane(axis.half[k], l), square += half[k] * half[k];
  const double length = math::sqrt(square);
  shape.kind = length > 0 ? ShapeKind::capsule : ShapeKind::sphere;
  shape.size[0] = geom.radius, shape.size[1] = length;
  if constexpr (P::kSizes) shape.size[0] = static_cast<double>(lane(radius_of<P>(g, w.parameters), l));
  set_axis(half, length, shape.turn);
  return shape;
}

// The contacts that each lane has found for one pair, at most kMost.
template <class F, int kMost>
class ContactsOfLanes {
  using S = Scalar<F>;

 public:
  // Adds a contact to lane l.
  DRL_HD void add(int l, const ShapeContact& contact) {
    const int c = count_[l]++;
    if (c == most_) {
      for (auto& number : numbers_[most_++])
        for (S& x : number) x = 0;
    }
    for (int k = 0; k < 3; ++k) {
      numbers_[c][k][l] = static_cast<S>(contact.point[k]);
      numbers_[c][3 + k][l] = static_cast<S>(contact.normal[k]);
    }
    numbers_[c][6][l] = static_cast<S>(contact.distance);
  }
  // Adds a contact to each of these lanes that has less than kMost.
  DRL_HD void add(Mask<F> lanes, const F* point, const F* normal, F distance) {
    S numbers[7][kLanesOf<F>];
    for (int k = 0; k < 3; ++k) store(numbers[k], point[k]), store(numbers[3 + k], normal[k]);
    store(numbers[6], distance);
    for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
      const int l = lowest_bit(left);
      if (count_[l] == kMost) continue;
      ShapeContact contact;
      for (int k = 0; k < 3; ++k) contact.point[k] = numbers[k][l], contact.normal[k] = numbers[3 + k][l];
      contact.distance = numbers[6][l];
      add(l, contact);
    }
  }
  // Calls body(pair, lanes, contact) for the first contacts of all lanes, then for the second ones, and so on. `origin`
  // [3] is that of their points.
  template <class Body>
  DRL_HD void each(const ContactPair& pair, Mask<F> lanes, const F* origin, const Body& body) const {
    S counts[kLanesOf<F>];
    for (int l = 0; l < kLanesOf<F>; ++l) counts[l] = static_cast<S>(count_[l]);
    const F of_lane = load<F>(counts);
    for (int c = 0; c < most_; ++c) {
      PairContact<F> contact;
      for (int k = 0; k < 3; ++k) {
        contact.point[k] = load<F>(numbers_[c][k]) + origin[k];
        contact.normal[k] = load<F>(numbers_[c][3 + k]);
      }
      contact.distance = load<F>(numbers_[c][6]), contact.index = c;
      body(pair, lanes & (F(c) < of_lane), contact);
    }
  }

 private:
  S numbers_[kMost][7][kLanesOf<F>];  // point, normal, distance
  int count_[kLanesOf<F>] = {}, most_ = 0;
};

// Finds the contacts of a pair's shapes and returns their number. `found` has room for kMostShapeContacts.
template <class P>
DRL_HD int collide_pair(const ContactPair& pair, const Shape& first, const Shape& second, ShapeContact* found,
                        PairMemory* memory) {
  if constexpr (P::kMultiCcd) return collide_multiccd(first, second, pair.margin, P::convex(), found, memory);
  return collide(first, second, pair.margin, P::convex(), found, memory);
}

// Calls body(pair, lanes, contact) for each contact of two geoms of any kinds that exists in some of these lanes, with
// the lanes in which it exists.
template <class P, class F, class Body>
DRL_HD_CALLED void each_contact_by_lane(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  const ContactPair& pair = P::pair(number);
  ContactsOfLanes<F, kMostShapeContacts> contacts;
  [[maybe_unused]] uint32_t separated = 0;
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    ShapeContact found[kMostShapeContacts];
    Hull hulls[2];
    const Shape first = shape_of<P>(w, pair.first, pair.first, l, hulls[0]);
    const Shape second = shape_of<P>(w, pair.second, pair.first, l, hulls[1]);
    PairMemory* memory = nullptr;
    if constexpr (count_remembered<P>() > 0)
      if (is_remembered<P>(pair)) memory = &remembered_of<P>(w, number).lane[l];
    const int count = collide_pair<P>(pair, first, second, found, memory);
    for (int c = 0; c < count; ++c) contacts.add(l, found[c]);
    if (has_separations<P, F>() && memory != nullptr) separated |= uint32_t(memory->gap > 0) << l;
  }
  if constexpr (has_separations<P, F>())
    if (separated != 0) keep_separations<P, F>(w, number, pair, separated);
  contacts.each(pair, lanes, w.geom_axis[pair.first].center, body);
}

}  // namespace drl::inline DRL_ISA::physics

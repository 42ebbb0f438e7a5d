// Contacts that are computed in lanes: of spheres and capsules with each other, with a box and with a plane.
#pragma once

#include "drl/physics/boxes.hpp"
#include "drl/physics/contact_pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// The axes of two geoms as lines, on which places are numbers from -1 to 1.
template <class F>
struct TwoAxes {
  const GeomAxis<F>&a, &b;
  F apart[3], across[3];       // from b's centre to a's; a's half axis x b's
  F square;                    // |across|^2
  F aa, ab, bb, a_off, b_off;  // products of half axes; of a half axis and `apart`

  DRL_HD TwoAxes(const GeomAxis<F>& first, const GeomAxis<F>& second) : a(first), b(second) {
    for (int k = 0; k < 3; ++k) apart[k] = a.center[k] - b.center[k];
    cross(a.half, b.half, across);
    square = dot(across, across);
    aa = dot(a.half, a.half), ab = dot(a.half, b.half), bb = dot(b.half, b.half);
    a_off = dot(a.half, apart), b_off = dot(b.half, apart);
  }
  // Returns the lanes in which the axes are parallel or one has no length, with MuJoCo's bound.
  DRL_HD Mask<F> are_parallel() const { return square < F(1e-15); }
  // Returns the lanes in which capsules that overlap are parallel.
  DRL_HD Mask<F> are_nearly_parallel() const { return square < F(kSquareOfParallel) * aa * bb; }

  // The place on one axis that is nearest to a place on the other. It may be beyond the ends.
  DRL_HD F on_a(F y) const { return (ab * y - a_off) / math::max(aa, F(kLeast)); }
  DRL_HD F on_b(F x) const { return math::fma(ab, x, b_off) / math::max(bb, F(kLeast)); }
  // Computes the nearest places, x on a and y on b, of axes that are not parallel. The cross products stay accurate
  // for nearly parallel lines.
  DRL_HD void nearest(F& x, F& y) const {
    F turned[3];
    cross(apart, b.half, turned);
    x = math::select(are_parallel(), F(0), -dot(across, turned) / math::max(square, F(kLeast)));
    x = math::clamp(x, F(-1), F(1));
    const F free = on_b(x);
    y = math::clamp(free, F(-1), F(1));
    x = math::select(y != free, math::clamp(on_a(y), F(-1), F(1)), x);
  }

  // Computes the vector from place x of a to place y of b.
  DRL_HD void between(F x, F y, F* way) const {
    for (int k = 0; k < 3; ++k) way[k] = math::fma(y, b.half[k], -math::fma(x, a.half[k], apart[k]));
  }
  // Returns the contact between the spheres around two places.
  template <class First, class Second>
  DRL_HD PairContact<F> contact(F x, F y, First first_radius, Second second_radius) const {
    // Below this distance, the direction between the places is only rounding error.
    constexpr double kSame = sizeof(Scalar<F>) == 4 ? 1e-6 : 1e-15;
    PairContact<F> c;
    between(x, y, c.normal);
    const F length = math::sqrt(dot(c.normal, c.normal));
    c.distance = length - F(first_radius + second_radius);
    const Mask<F> is_same = length < F(kSame);
    const F inverse = F(1) / math::select(is_same, math::sqrt(math::max(square, F(kLeast))), length);
    const F reach = math::fma(F(0.5), c.distance, F(first_radius));
    for (int k = 0; k < 3; ++k) {
      const F otherwise = math::select(are_parallel(), F(k == 0 ? 1 : 0), across[k] * inverse);
      c.normal[k] = math::select(is_same, otherwise, c.normal[k] * inverse);
      c.point[k] = math::fma(reach, c.normal[k], math::fma(x, a.half[k], a.center[k]));
    }
    return c;
  }

 private:
  static constexpr double kLeast = 1e-30;
};

// Returns the lanes in which a capsule's axis is farther than `reach` from a box, as a direction shows that is
// perpendicular to the axis and to edges of the box. The arguments are those of find_places().
template <class F>
DRL_HD Mask<F> passes_box(const F* center, const F* half, const double* size, F reach) {
  constexpr double kRounding = 1e-6;
  const auto passes = [&](int k, int l) DRL_LAMBDA {
    const F x = half[l] * center[k], y = half[k] * center[l];
    const F wide = F(size[k]) * math::abs(half[l]) + F(size[l]) * math::abs(half[k]);
    const F far = wide + reach * math::sqrt(half[k] * half[k] + half[l] * half[l]);
    return far + F(kRounding) * (math::abs(x) + math::abs(y)) < math::abs(x - y);
  };
  return passes(0, 1) | passes(1, 2) | passes(2, 0);
}

// Calls body(pair, lanes, contact) for each contact of two geoms that exists in some of these lanes, with the lanes in
// which it exists. Parallel capsules have up to two contacts: the first two of their four ends that touch, each at the
// nearest place of the other axis; or, if they overlap, the two ends of their common part.
template <class P, class F, class Body>
DRL_HD void each_contact_of(const ContactPair& pair, const GeomAxis<F>& a, const GeomAxis<F>& b, Mask<F> lanes,
                            const F* parameters, const Body& body) {
  const TwoAxes<F> axes(a, b);
  F x, y, way[3], found = F(0);
  axes.nearest(x, y);
  axes.between(x, y, way);
  const Mask<F> is_near = lanes & (dot(way, way) < grown<P>(parameters, pair.nearest));
  if (!any(is_near)) return;
  Mask<F> is_parallel = F(0) != F(0);
  if (pair.has_no_sphere) is_parallel = P::kCapsulesOverlap ? axes.are_nearly_parallel() : axes.are_parallel();
  const int ends = any(is_near & is_parallel) ? (P::kCapsulesOverlap ? 2 : 4) : 0;
  for (int end = 0; end <= ends; ++end) {
    const F side = F(end % 2 == 1 ? 1 : -1);
    if (P::kCapsulesOverlap && end > 0) {
      const F free = axes.on_b(-side);
      y = math::clamp(free, F(-1), F(1));
      x = math::select(y != free, math::clamp(axes.on_a(y), F(-1), F(1)), -side);
    } else if (end == 1 || end == 2) {
      x = side, y = math::clamp(axes.on_b(x), F(-1), F(1));
    } else if (end > 0) {
      y = side, x = math::clamp(axes.on_a(y), F(-1), F(1));
    }
    PairContact<F> contact =
        axes.contact(x, y, radius_of<P>(pair.first, parameters), radius_of<P>(pair.second, parameters));
    const Mask<F> is_asked = end == 0 ? !is_parallel : is_parallel & (found < F(2));
    const Mask<F> touches = is_near & is_asked & (contact.distance < F(pair.margin));
    if (!any(touches)) continue;
    contact.index = end;
    body(pair, touches, contact);
    found = found + math::select(touches, F(1), F(0));
  }
}
// Does the same for a sphere or a capsule against a box. In lanes whose box has another size than in the file, all
// lengths are divided by its factor.
template <class P, class F, class Body>
DRL_HD void each_contact_with_box(const ContactPair& pair, const GeomAxis<F>& a, const GeomAxis<F>& b,
                                  const Axes<F>& box, Mask<F> lanes, const F* parameters, const Body& body) {
  const auto radius = radius_of<P>(pair.first, parameters);
  const double* size = P::pair_geom(pair.second).size;
  F apart[3], center[3], half[3];
  for (int k = 0; k < 3; ++k) apart[k] = a.center[k] - b.center[k];
  box.into(apart, center), box.into(a.half, half);
  [[maybe_unused]] const F scale = scale_of<P>(pair.second, parameters);
  if constexpr (P::kSizes) {
    const F inverse = F(1) / scale;
    for (int k = 0; k < 3; ++k) center[k] = inverse * center[k], half[k] = inverse * half[k];
  }
  for (int k = 0; k < 3; ++k) {
    F wide;
    if constexpr (P::kSizes)
      wide = F(size[k]) + (F(pair.margin) + radius) / scale;
    else
      wide = F(size[k] + radius + pair.margin);
    lanes = lanes & (math::abs(center[k]) - math::abs(half[k]) < wide);
  }
  const bool are_capsules = any(F(0) < dot(a.half, a.half));
  if (are_capsules && any(lanes)) lanes = lanes & !passes_box(center, half, size, (F(pair.margin) + F(radius)) / scale);
  if (!any(lanes)) return;
  F places[2] = {F(0), F(AxisAndBox<Scalar<F>>::kNone)};
  if (are_capsules) find_places(center, half, size, lanes, places[0], places[1]);
  for (const F& place : places) {
    F point[3], way[3], distance;
    for (int k = 0; k < 3; ++k) point[k] = math::fma(place, half[k], center[k]);
    nearest_of_box(point, size, way, distance);
    if constexpr (P::kSizes) {
      distance = scale * distance;
      for (F& x : point) x = scale * x;
    }
    PairContact<F> contact;
    contact.distance = distance - F(radius);
    const Mask<F> touches = lanes & (contact.distance < F(pair.margin)) & (place < F(2));
    if (!any(touches)) continue;
    contact.index = &place == places ? 0 : 1;
    box.out_of(way, contact.normal);
    const F reach = math::fma(F(0.5), contact.distance, F(radius));
    for (int k = 0; k < 3; ++k) point[k] = math::fma(reach, way[k], point[k]);
    box.out_of(point, contact.point);
    for (int k = 0; k < 3; ++k) contact.point[k] = contact.point[k] + b.center[k];
    body(pair, touches, contact);
  }
}
// Does the same for a plane against a sphere or a capsule.
template <class P, class F, class Body>
DRL_HD void each_contact_with_plane(const ContactPair& pair, const GeomAxis<F>& a, const GeomAxis<F>& b,
                                    const Axes<F>& plane, Mask<F> lanes, const F* parameters, const Body& body) {
  const auto radius = radius_of<P>(pair.second, parameters);
  for (int end = 1; end >= (pair.has_no_sphere ? -1 : 1); end -= 2) {
    PairContact<F> contact;
    F center[3];
    for (int k = 0; k < 3; ++k) {
      contact.normal[k] = plane.turn[k][2];
      center[k] = math::fma(F(end), b.half[k], b.center[k]) - a.center[k];
    }
    contact.distance = dot(contact.normal, center) - F(radius);
    const Mask<F> touches = lanes & (contact.distance < F(pair.margin));
    if (!any(touches)) continue;
    const F reach = math::fma(F(0.5), contact.distance, F(radius));
    for (int k = 0; k < 3; ++k) contact.point[k] = math::fma(-reach, contact.normal[k], center[k]) + a.center[k];
    if (pair.has_no_sphere) contact.along = b.half;
    contact.index = end > 0 ? 0 : 1;
    body(pair, touches, contact);
  }
}

}  // namespace drl::inline DRL_ISA::physics

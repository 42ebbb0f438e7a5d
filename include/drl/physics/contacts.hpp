// Contacts between two geoms: where they touch, whatever their shapes are. Spheres and capsules against each other, a
// box or a plane are computed in lanes. For all other shapes, lanes only find who is near; the contacts of those are
// computed lane by lane (drl/physics/collide.hpp).
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/physics/boxes.hpp"
#include "drl/physics/collide.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// A geom that may touch another one.
struct PairGeom {
  int frame, tree;    // frame: index among those that may touch, -1 for the world
  uint64_t moved_by;  // bit i is set if qvel[i] moves it, for the first 64
  double radius;      // of a sphere or a capsule
  // For other kinds: the place of its axes in the work, MuJoCo's sizes, the half sizes of a box around its centre that
  // contains it, and the index of a mesh's hull.
  int turn = -1;
  ShapeKind kind = ShapeKind::capsule;
  double size[3] = {0, 0, 0}, extent[3] = {0, 0, 0};
  int hull = -1;
  uint64_t moved_by_others[3] = {0, 0, 0};  // bits of the next 64, and so on

  DRL_HD bool is_moved_by(int dof) const {
    return ((dof < 64 ? moved_by : moved_by_others[dof / 64 - 1]) >> dof % 64 & 1) != 0;
  }
};
// Two geoms that may touch, in the order of MuJoCo's kinds: planes first, boxes and meshes last.
struct ContactPair {
  int first, second;
  bool are_capsules;  // no sphere is among them
  int edges;          // of the friction pyramid: 1 without friction, else 2 for each direction; 0 for an elliptic cone
  // Squared distances between centres and between axes beyond which they cannot touch. `reach` of a plane is the
  // distance of the other geom's centre.
  float reach, nearest;
  double margin, friction, weight;
  double stiffness, damping, least, most, width, midpoint;  // solver parameters
  int dimensions = 1;                                       // 1, 3, 4 or 6, as in ConePoint
  double cone_friction[3] = {0, 0, 0};                      // sliding, torsional, rolling
  int varies[2] = {-1, -1};
  // These are set if one geom belongs to the world (drl/physics/ground.hpp): the index of the other geom's body among
  // those with contacts, the index of this pair, the first of its places, and whether the first geom is the one that
  // moves.
  int body = -1, number = 0, place = 0;
  bool moves_first = false;
};

// Robots with many pairs have a short table of them (Sizes::compact_pair(k)): only the geoms and the index of their
// kind, which has all parameters that do not depend on the geoms' sizes. Then Sizes::pair(k) returns a ContactPair by
// value.
struct CompactPair {
  uint16_t first, second, kind;
};
// Their pairs are in groups. None of a group touches while the centres of these two geoms are further apart; `reach` is
// as in ContactPair. `end` is the index of the next group's first pair, not counting ground pairs.
struct PairGroup {
  int first, second;
  float reach;
  int end;
};
// The geoms of the world of such a robot are in a table: their index, and their centre, half axis and axes in the
// world.
struct StillGeom {
  int geom;
  double center[3], half[3], turn[3][3];
};
template <class P>
constexpr bool has_pair_groups() {
  return requires { P::kPairGroups; };
}
template <class P>
DRL_HD ContactPair assemble_pair(int k) {
  if constexpr (P::kGroundPairs > 0)
    if (k < P::kGroundPairs) return P::ground_pair(k);
  const CompactPair& geoms = P::compact_pair(k - P::kGroundPairs);
  ContactPair pair = P::pair_kind(geoms.kind);
  const PairGeom &a = P::pair_geom(geoms.first), &b = P::pair_geom(geoms.second);
  constexpr double kMore = 1.0001, kLeast = 1e-5;  // rounding
  const double reach = P::pair_geom_bound(geoms.first) + P::pair_geom_bound(geoms.second) + pair.margin;
  const double nearest = a.radius + b.radius + pair.margin;
  pair.first = geoms.first, pair.second = geoms.second, pair.number = k;
  pair.reach = static_cast<float>(kMore * reach * (a.kind == ShapeKind::plane ? 1 : reach) + kLeast);
  pair.nearest = static_cast<float>(kMore * nearest * nearest + kLeast);
  return pair;
}
// Returns the index of one of the pairs that P::pair(k) returns.
template <class P>
DRL_HD int index_of(const ContactPair& pair) {
  if constexpr (has_pair_groups<P>())
    return pair.number;
  else
    return static_cast<int>(&pair - &P::pair(0));
}

// A geom's centre, relative to the origin of the first tree, and the vector from the centre to the end of its axis (0
// if it is no capsule).
template <class F>
struct GeomAxis {
  F center[3], half[3];
};
// The point where two geoms touch, relative to the origin of the first tree. The normal points from the first geom to
// the second.
// If `along` is not null, the first tangent lies along this vector, as for a capsule on a plane.
template <class F>
struct PairContact {
  F point[3], normal[3], distance;
  const F* along = nullptr;
  int index = 0;  // among the contacts that the pair can have, whatever other lanes have
};

template <class F>
DRL_HD F dot(const F* a, const F* b) {
  return math::fma(a[2], b[2], math::fma(a[1], b[1], a[0] * b[0]));
}
template <class F>
DRL_HD void cross(const F* a, const F* b, F* c) {
  for (int k = 0; k < 3; ++k) {
    const int l = (k + 1) % 3, m = (k + 2) % 3;
    c[k] = math::fma(a[l], b[m], -(a[m] * b[l]));
  }
}

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
  DRL_HD PairContact<F> contact(F x, F y, double first_radius, double second_radius) const {
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

// Calls body(pair, lanes, contact) for each contact of two geoms that exists in some of these lanes, with the lanes in
// which it exists. Parallel capsules have up to two contacts: the first two of their four ends that touch, each at the
// nearest place of the other axis.
template <class P, class F, class Body>
DRL_HD void each_contact_of(const ContactPair& pair, const GeomAxis<F>& a, const GeomAxis<F>& b, Mask<F> lanes,
                            const Body& body) {
  const TwoAxes<F> axes(a, b);
  F x, y, way[3], found = F(0);
  axes.nearest(x, y);
  axes.between(x, y, way);
  const Mask<F> is_near = lanes & (dot(way, way) < F(pair.nearest));
  if (!any(is_near)) return;
  const Mask<F> is_parallel = pair.are_capsules ? axes.are_parallel() : F(0) != F(0);
  const int ends = any(is_near & is_parallel) ? 4 : 0;
  for (int end = 0; end <= ends; ++end) {
    const F side = F(end % 2 == 1 ? 1 : -1);
    if (end == 1 || end == 2) x = side, y = math::clamp(axes.on_b(x), F(-1), F(1));
    if (end == 3 || end == 4) y = side, x = math::clamp(axes.on_a(y), F(-1), F(1));
    PairContact<F> contact = axes.contact(x, y, P::pair_geom(pair.first).radius, P::pair_geom(pair.second).radius);
    const Mask<F> is_asked = end == 0 ? !is_parallel : is_parallel & (found < F(2));
    const Mask<F> touches = is_near & is_asked & (contact.distance < F(pair.margin));
    if (!any(touches)) continue;
    contact.index = end;
    body(pair, touches, contact);
    found = found + math::select(touches, F(1), F(0));
  }
}
// Does the same for a sphere or a capsule against a box.
template <class P, class F, class Body>
DRL_HD void each_contact_with_box(const ContactPair& pair, const GeomAxis<F>& a, const GeomAxis<F>& b,
                                  const Axes<F>& box, Mask<F> lanes, const Body& body) {
  const double radius = P::pair_geom(pair.first).radius, *size = P::pair_geom(pair.second).size;
  F apart[3], center[3], half[3];
  for (int k = 0; k < 3; ++k) apart[k] = a.center[k] - b.center[k];
  box.into(apart, center), box.into(a.half, half);
  for (int k = 0; k < 3; ++k)
    lanes = lanes & (math::abs(center[k]) - math::abs(half[k]) < F(size[k] + radius + pair.margin));
  if (!any(lanes)) return;
  const Mask<F> is_capsule = F(0) < dot(a.half, a.half);
  F places[2] = {F(0), F(AxisAndBox<Scalar<F>>::kNone)};
  if (any(is_capsule)) find_places(center, half, size, lanes, places[0], places[1]);
  for (const F& place : places) {
    F point[3], way[3], distance;
    for (int k = 0; k < 3; ++k) point[k] = math::fma(place, half[k], center[k]);
    nearest_of_box(point, size, way, distance);
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
                                    const Axes<F>& plane, Mask<F> lanes, const Body& body) {
  const double radius = P::pair_geom(pair.second).radius;
  for (int end = 1; end >= (pair.are_capsules ? -1 : 1); end -= 2) {
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
    if (pair.are_capsules) contact.along = b.half;
    contact.index = end > 0 ? 0 : 1;
    body(pair, touches, contact);
  }
}

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

// Returns the lanes in which one of the first geom's axes separates the boxes around two geoms. `apart` is the vector
// from the second centre to the first.
template <class P, class F>
DRL_HD Mask<F> are_apart(const typename P::Work& w, int first, int second, const F* apart, double margin) {
  const PairGeom &a = P::pair_geom(first), &b = P::pair_geom(second);
  const Axes<F>& axes = w.geom_turn[a.turn];
  F off[3], wide[3] = {F(a.extent[0] + margin), F(a.extent[1] + margin), F(a.extent[2] + margin)};
  axes.into(apart, off);
  const auto add = [&](const F* half) DRL_LAMBDA {  // half an edge of the second box
    F turned[3];
    axes.into(half, turned);
    for (int k = 0; k < 3; ++k) wide[k] = wide[k] + math::abs(turned[k]);
  };
  if (b.turn < 0) {
    for (F& x : wide) x = x + F(b.radius);
    add(w.geom_axis[second].half);
  } else {
    for (int j = 0; j < 3; ++j) {
      const auto& turn = w.geom_turn[b.turn].turn;
      const F half[3] = {F(b.extent[j]) * turn[0][j], F(b.extent[j]) * turn[1][j], F(b.extent[j]) * turn[2][j]};
      add(half);
    }
  }
  return (wide[0] < math::abs(off[0])) | (wide[1] < math::abs(off[1])) | (wide[2] < math::abs(off[2]));
}
// Returns the lanes in which two geoms are near: no axis of either separates the boxes around them.
template <class P, class F>
DRL_HD Mask<F> are_near(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F apart[3] = {a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]};
  const double margin = pair.margin + 1e-6;  // rounding
  lanes = lanes & !are_apart<P>(w, pair.second, pair.first, apart, margin);
  if (P::pair_geom(pair.first).turn >= 0 && any(lanes))
    lanes = lanes & !are_apart<P>(w, pair.first, pair.second, apart, margin);
  return lanes;
}

// Returns the number of pairs of which each lane remembers how they were apart.
template <class Sizes>
constexpr int count_remembered() {
  constexpr int kPairs = Sizes::kGroundPairs + Sizes::kPairs;
  return Sizes::kTurnedGeoms > 0 && kPairs <= 1024 ? kPairs : 0;
}
// Returns what lane l remembers of a pair, or null.
template <class P>
DRL_HD PairMemory* memory_of([[maybe_unused]] const typename P::Work& w, [[maybe_unused]] int number,
                             [[maybe_unused]] int l) {
  if constexpr (count_remembered<P>() > 0)
    return &w.remembered[number][l];
  else
    return nullptr;
}

// Returns a geom's shape in lane l, with its centre relative to that of geom `origin`. A mesh's hull stays in `hull`.
template <class P>
DRL_HD Shape shape_of(const typename P::Work& w, int g, int origin, int l, [[maybe_unused]] Hull& hull) {
  const PairGeom& geom = P::pair_geom(g);
  const auto &axis = w.geom_axis[g], &from = w.geom_axis[origin];
  Shape shape;
  for (int k = 0; k < 3; ++k) {
    shape.position[k] = static_cast<double>(lane(axis.center[k], l)) - static_cast<double>(lane(from.center[k], l));
    shape.size[k] = geom.size[k];
  }
  shape.kind = geom.kind, shape.hull = nullptr;
  if (geom.turn >= 0) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) shape.turn[i][k] = lane(w.geom_turn[geom.turn].turn[i][k], l);
    if constexpr (P::kHulls > 0)
      if (geom.hull >= 0) hull = P::hull(geom.hull), shape.hull = &hull;
    return shape;
  }
  double half[3], square = 0;
  for (int k = 0; k < 3; ++k) half[k] = lane(axis.half[k], l), square += half[k] * half[k];
  const double length = math::sqrt(square);
  shape.kind = length > 0 ? ShapeKind::capsule : ShapeKind::sphere;
  shape.size[0] = geom.radius, shape.size[1] = length;
  set_axis(half, length, shape.turn);
  return shape;
}

// Does the same for two geoms of any kinds, lane by lane.
template <class P, class F, class Body>
DRL_HD_CALLED void each_contact_by_lane(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  const ContactPair& pair = P::pair(number);
  using S = Scalar<F>;
  constexpr int kNumbers = 7;
  S numbers[kMostShapeContacts][kNumbers][kLanesOf<F>], counts[kLanesOf<F>] = {};
  int most = 0;
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    ShapeContact found[kMostShapeContacts];
    Hull hulls[2];
    const Shape first = shape_of<P>(w, pair.first, pair.first, l, hulls[0]);
    const Shape second = shape_of<P>(w, pair.second, pair.first, l, hulls[1]);
    const int count = collide(first, second, pair.margin, P::convex(), found, memory_of<P>(w, number, l));
    for (int c = most; c < count; ++c)
      for (auto& number : numbers[c])
        for (S& x : number) x = 0;
    for (int c = 0; c < count; ++c) {
      for (int k = 0; k < 3; ++k) {
        numbers[c][k][l] = static_cast<S>(found[c].point[k]);
        numbers[c][3 + k][l] = static_cast<S>(found[c].normal[k]);
      }
      numbers[c][6][l] = static_cast<S>(found[c].distance);
    }
    counts[l] = static_cast<S>(count), most = count > most ? count : most;
  }
  const F of_lane = load<F>(counts), *origin = w.geom_axis[pair.first].center;
  for (int c = 0; c < most; ++c) {
    PairContact<F> contact;
    for (int k = 0; k < 3; ++k) {
      contact.point[k] = load<F>(numbers[c][k]) + origin[k];
      contact.normal[k] = load<F>(numbers[c][3 + k]);
    }
    contact.distance = load<F>(numbers[c][6]), contact.index = c;
    body(pair, lanes & (F(c) < of_lane), contact);
  }
}

// Returns the lanes in which two geoms are so near that they may touch, by the spheres around them.
template <class P, class F = typename P::Number>
DRL_HD Mask<F> may_touch(const typename P::Work& w, const auto& pair) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F apart[3] = {a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]};
  if constexpr (P::kTurnedGeoms > 0)
    if (const PairGeom& first = P::pair_geom(pair.first); first.kind == ShapeKind::plane) {
      const Axes<F>& plane = w.geom_turn[first.turn];
      const F normal[3] = {plane.turn[0][2], plane.turn[1][2], plane.turn[2][2]};
      return F(-pair.reach) < dot(normal, apart);
    }
  return dot(apart, apart) < F(pair.reach);
}
// Calls body(pair, lanes, contact) for each contact of a pair in some of these lanes.
template <class P, class F, class Body>
DRL_HD void each_contact(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  const ContactPair& pair = P::pair(number);
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  if constexpr (P::kTurnedGeoms > 0) {
    const PairGeom &first = P::pair_geom(pair.first), &second = P::pair_geom(pair.second);
    const bool is_plane = first.kind == ShapeKind::plane;
    if (is_plane && second.turn < 0)
      return each_contact_with_plane<P>(pair, a, b, w.geom_turn[first.turn], lanes, body);
    if (first.turn < 0 && second.kind == ShapeKind::box)
      return each_contact_with_box<P>(pair, a, b, w.geom_turn[second.turn], lanes, body);
    if (second.turn >= 0) {
      if (!is_plane) lanes = are_near<P, F>(w, pair, lanes);
      if (any(lanes)) each_contact_by_lane<P, F>(w, number, lanes, body);
      return;
    }
  }
  each_contact_of<P>(pair, a, b, lanes, body);
}
// Writes the geoms of the world into the work, unless smooth() does.
template <class P>
DRL_HD void place_still_geoms([[maybe_unused]] typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (has_pair_groups<P>())
    for (int s = 0; s < P::kStillGeoms; ++s) {
      const StillGeom& still = P::still_geom(s);
      for (int k = 0; k < 3; ++k) w.geom_axis[still.geom].center[k] = F(still.center[k]) - w.origin[k];
      if (w.has_still_geoms) continue;
      for (int k = 0; k < 3; ++k) w.geom_axis[still.geom].half[k] = F(still.half[k]);
      if constexpr (P::kTurnedGeoms > 0)
        if (const int turn = P::pair_geom(still.geom).turn; turn >= 0)
          for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) w.geom_turn[turn].turn[i][k] = F(still.turn[i][k]);
    }
  if constexpr (has_pair_groups<P>()) w.has_still_geoms = true;
}
// Lists the pairs that are near in some lane, apart from ground pairs.
template <class P>
DRL_HD void find_near_pairs(typename P::Work& w) {
  int number = 0;
  const auto add_near_of = [&](int first, int end) DRL_LAMBDA {
    for (int k = first; k < end; ++k) {
      w.near_pair[number] = static_cast<uint32_t>(P::kGroundPairs + k);
      number += any(may_touch<P>(w, P::pair(P::kGroundPairs + k))) ? 1 : 0;
    }
  };
  if constexpr (has_pair_groups<P>()) {
    for (int g = 0, first = 0; g < P::kPairGroups; ++g) {
      const PairGroup& group = P::pair_group(g);
      if (any(may_touch<P>(w, group))) add_near_of(first, group.end);
      first = group.end;
    }
  } else {
    add_near_of(0, P::kPairs);
  }
  w.near_pairs = number;
}
// Calls body(pair, lanes, contact) for each contact of each pair in the list.
template <class P, class Body>
DRL_HD void each_pair_contact(const typename P::Work& w, const Body& body) {
  using F = typename P::Number;
  for (int n = 0; n < w.near_pairs; ++n) {
    const auto number = static_cast<int>(w.near_pair[n]);
    each_contact<P, F>(w, number, may_touch<P>(w, P::pair(number)), body);
  }
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

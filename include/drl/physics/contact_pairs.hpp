// The geoms of a robot and its world that may touch each other, their pairs, and what a contact of a pair is.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/physics/shapes.hpp"

namespace drl::inline DRL_ISA::physics {

// A geom that may touch another one.
struct PairGeom {
  int frame, tree;    // frame: index among those that may touch, -1 for the world
  uint64_t moved_by;  // bit i is set if qvel[i] moves it, for the first 64
  double radius;      // of a sphere or a capsule
  // For other kinds: the place of its axes in the work, MuJoCo's sizes, the half sizes of a box around its centre that
  // contains it, and the index of a mesh's hull or of a height field.
  int turn = -1;
  ShapeKind kind = ShapeKind::capsule;
  double size[3] = {0, 0, 0}, extent[3] = {0, 0, 0};
  int hull = -1;
  uint64_t moved_by_others[3] = {0, 0, 0};  // bits of the next 64, and so on

  // Returns the bits of the qvel from 64 * word on.
  DRL_HD uint64_t movers(int word) const { return word == 0 ? moved_by : moved_by_others[word - 1]; }
  DRL_HD bool is_moved_by(int dof) const { return (movers(dof / 64) >> dof % 64 & 1) != 0; }
};
// Two geoms that may touch, in the order of MuJoCo's kinds: planes and height fields first, boxes and meshes last.
struct ContactPair {
  int first, second;
  bool has_no_sphere;
  int edges;  // of the friction pyramid: 1 without friction, else 2 for each direction; 0 for an elliptic cone
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
  bool first_moves = false;
  int places = 0;  // of a height field: their number
  // Friction along the second tangent and about it, if it differs from that of the first tangent; otherwise 0.
  double second_sliding = 0, second_rolling = 0;
  // The damping of the rows across the normal in an elliptic cone (MuJoCo's solreffriction); negative: as `damping`.
  double friction_damping = -1;
  // Contacts that are farther apart than margin - gap do not push, but actuators may adhere to them.
  double gap = 0;
  uint32_t adhesions = 0;  // bits of the actuators that adhere to this pair's contacts (drl/physics/adhesion.hpp)
};

// Robots with many pairs have a short table of them (Sizes::compact_pair(k)): only the geoms and the index of their
// kind, which has all parameters that do not depend on the geoms' sizes; its weight is relative to the sum of the
// geoms' inverse weights. Then Sizes::pair(k) returns a ContactPair by value.
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
DRL_HD ContactPair assemble_pair(int k) {
  if constexpr (P::kGroundPairs > 0)
    if (k < P::kGroundPairs) return P::ground_pair(k);
  const CompactPair& geoms = P::compact_pair(k - P::kGroundPairs);
  ContactPair pair = P::pair_kind(geoms.kind);
  const PairGeom &a = P::pair_geom(geoms.first), &b = P::pair_geom(geoms.second);
  constexpr double kMore = 1.0001, kLeast = 1e-5;  // rounding
  const double reach = P::pair_geom_bound(geoms.first) + P::pair_geom_bound(geoms.second) + pair.margin;
  const double nearest = a.radius + b.radius + pair.margin;
  pair.weight = pair.weight * (P::pair_geom_weight(geoms.first) + P::pair_geom_weight(geoms.second));
  pair.first = geoms.first, pair.second = geoms.second, pair.number = k;
  pair.reach = static_cast<float>(kMore * reach * (a.kind == ShapeKind::plane ? 1 : reach) + kLeast);
  pair.nearest = static_cast<float>(kMore * nearest * nearest + kLeast);
  return pair;
}
// Returns the values of the model's parameters, or null if it has none.
template <class P>
DRL_HD const typename P::Number* parameters_of([[maybe_unused]] const typename P::Work& w) {
  if constexpr (P::kParameters > 0)
    return w.parameters;
  else
    return nullptr;
}
// Returns the ratio by which an environment changes the inverse inertia of a frame with contacts.
template <class P>
DRL_HD typename P::Number weight_ratio_of_frame(const typename P::Work& w, int frame) {
  const int place = frame < 0 ? -1 : P::frame_constant(frame);
  return place < 0 ? typename P::Number(1) : w.parameters[place];
}
// Multiplies the weight of a pair's rows, which is in inverse proportion to the sum of both bodies' inverse inertias.
template <class P>
DRL_HD void adapt_pair_weight([[maybe_unused]] const typename P::Work& w, [[maybe_unused]] const ContactPair& pair,
                              [[maybe_unused]] typename P::Number& weight) {
  if constexpr (P::kConstants > 0) {
    using F = typename P::Number;
    const double first = P::geom_weight(pair.first), second = P::geom_weight(pair.second), sum = first + second;
    if (!(sum > 0)) return;
    const F ratio = F(first / sum) * weight_ratio_of_frame<P>(w, P::pair_geom(pair.first).frame) +
                    F(second / sum) * weight_ratio_of_frame<P>(w, P::pair_geom(pair.second).frame);
    weight = weight / ratio;
  }
}
// Returns a squared distance below which geoms may touch, with the environment's own sizes.
template <class P>
DRL_HD typename P::Number grown([[maybe_unused]] const typename P::Number* parameters, float bound) {
  using F = typename P::Number;
  if constexpr (P::kSizes)
    return F(bound) * parameters[P::kGrowth];
  else
    return F(bound);
}
// Returns the factor of all sizes of a geom in an environment: 1 if options cannot change them.
template <class P, class F>
DRL_HD F scale_of(int geom, [[maybe_unused]] const F* parameters) {
  if constexpr (P::kSizes)
    if (const int factor = P::radius_factor(geom); factor >= 0) return parameters[factor + 1];
  return F(1);
}
// Returns the radius of a sphere or a capsule: a double, or that of each environment if options may change it.
template <class P, class F>
DRL_HD auto radius_of(int geom, [[maybe_unused]] const F* parameters) {
  const double radius = P::pair_geom(geom).radius;
  if constexpr (P::kSizes) {
    const int factor = P::radius_factor(geom);
    return factor < 0 ? F(radius) : F(radius) * parameters[factor] * parameters[factor + 1];
  } else {
    return radius;
  }
}
// Returns the index of one of the pairs that P::pair(k) returns.
template <class P>
DRL_HD int index_of(const ContactPair& pair) {
  if constexpr (P::kPairGroups > 0)
    return pair.number;
  else
    return static_cast<int>(&pair - &P::pair(0));
}

// Returns the lanes in which a pair's contact is stiffer than those for which the robot's compiler chose float
// (Sizes::kStiffer).
template <class P, class F>
DRL_HD Mask<F> is_too_stiff(const ContactPair& pair, F distance) {
  return distance < F(P::deepest(P::kContacts + P::kCones + index_of<P>(pair)));
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

}  // namespace drl::inline DRL_ISA::physics

// What lanes remember of pairs of convex shapes that did not touch: planes between them, by which all lanes together
// find that the shapes are still apart. This needs no support points, which are found lane by lane, because the
// support point of a shape moves by no more than its radius times the change of the direction in its axes.
#pragma once

#include "drl/physics/boxes.hpp"
#include "drl/physics/collide.hpp"
#include "drl/physics/contact_pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// Planes between the geoms of a pair, one in each lane.
template <class F>
struct Separations {
  using Lanes = Scalar<F>[kLanesOf<F>];
  static constexpr double kNone = 1e30;  // the reach in a lane that has no plane

  bool is_set;        // otherwise no lane has a plane, and there are no numbers
  Lanes way[3];       // the normal, which leads from the second geom to the first
  Lanes local[2][3];  // it in the axes of each geom, then; of a sphere or a capsule, how far the axis reached along it
  Lanes reach;        // how far both geoms reached along it, from their centres towards each other
};
// A pair of geoms that the lanes remember. `pair` is its number. If it is -1, the lanes remember nothing, and the other
// members are not set. A single lane has no Separations.
template <class F>
struct RememberedPair {
  struct Nothing {};
  static constexpr bool kHasPlanes = kLanesOf<F> != 1;
  int pair = -1;
  PairMemory lane[kLanesOf<F>];
  [[no_unique_address]] std::conditional_t<kHasPlanes, Separations<F>, Nothing> separations;

  DRL_HD void begin(int number) {
    pair = number;
    for (PairMemory& memory : lane) memory = {};
    if constexpr (kHasPlanes) separations.is_set = false;
  }
};

// Returns the number of places for pairs of which lanes remember something, or 0.
template <class Sizes>
constexpr int count_remembered() {
  constexpr int kMost = 1024, kAll = Sizes::kGroundPairs + Sizes::kPairs;
  return !Sizes::kRemembersPairs ? 0 : kAll < kMost ? kAll : kMost;
}
// Returns the place of a pair. If there are more pairs than places, it is the first of some places, which a hash of the
// number tells, that no other pair has. If other pairs have all of them, everything is forgotten.
template <class P>
DRL_HD auto& remembered_of(const typename P::Work& w, int number) {
  constexpr int kPlaces = count_remembered<P>(), kTried = 16;
  constexpr bool kHaveAll = kPlaces == P::kGroundPairs + P::kPairs;
  const int hash = static_cast<int>(uint32_t(number) * 2654435769u >> 16);
  const auto at = [&](int k) DRL_LAMBDA { return kHaveAll ? number : (hash + k) % kPlaces; };
  const auto has_other = [&](int k) DRL_LAMBDA {
    const int pair = w.remembered[at(k)].pair;
    return pair != number && pair >= 0;
  };
  int k = 0;
  while (k < kTried && has_other(k)) ++k;
  for (int i = 0; i < kPlaces && k == kTried; ++i) w.remembered[i].pair = -1;
  auto& place = w.remembered[at(k)];
  if (place.pair < 0) place.begin(number);
  return place;
}
// Returns whether lanes remember something of a pair.
template <class P>
DRL_HD bool is_remembered([[maybe_unused]] const ContactPair& pair) {
  if constexpr (count_remembered<P>() > 0)
    return is_convex_pair(P::pair_geom(pair.first).kind, P::pair_geom(pair.second).kind);
  else
    return false;
}
template <class P, class F>
constexpr bool has_separations() {
  return count_remembered<P>() > 0 && kLanesOf<F> > 1 && !P::kSizes;
}

// Computes a direction in a geom's axes, or in local[0] how far the axis of a sphere or a capsule reaches along it.
template <class P, class F>
DRL_HD void turn_into(const typename P::Work& w, int geom, const F* way, F* local) {
  const int turn = P::pair_geom(geom).turn;
  local[1] = local[2] = F(0);
  if (turn < 0)
    local[0] = math::abs(dot(way, w.geom_axis[geom].half));
  else
    w.geom_turn[turn].into(way, local);
}
template <class P, class F>
DRL_HD F distance_of_centers(const typename P::Work& w, const ContactPair& pair, const F* way) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F between[3] = {a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]};
  return dot(way, between);
}
// Returns the radius of a sphere around a geom's centre that contains it.
DRL_HD double bound_of(const PairGeom& geom) {
  return std::sqrt(geom.extent[0] * geom.extent[0] + geom.extent[1] * geom.extent[1] + geom.extent[2] * geom.extent[2]);
}

// Returns those of the lanes in which the planes of a pair show that its geoms are farther apart than the margin.
template <class P, class F>
DRL_HD Mask<F> are_still_apart(const typename P::Work& w, int number, const ContactPair& pair, Mask<F> lanes) {
  const auto& known = remembered_of<P>(w, number).separations;
  if (!known.is_set) return lanes & !lanes;
  const F way[3] = {load<F>(known.way[0]), load<F>(known.way[1]), load<F>(known.way[2])};
  F gap = distance_of_centers<P>(w, pair, way) - load<F>(known.reach);
  constexpr double kRounding = 3e-6;  // of float, for a size of 1
  double most = pair.margin + P::convex().tolerance + kRounding;
  for (int side = 0; side < 2; ++side) {
    const int geom = side == 0 ? pair.first : pair.second;
    const auto& before = known.local[side];
    F local[3];
    turn_into<P>(w, geom, way, local);
    if (P::pair_geom(geom).turn < 0) {
      gap = gap - (local[0] - load<F>(before[0]));
    } else {
      const double radius = bound_of(P::pair_geom(geom));
      for (int k = 0; k < 3; ++k) local[k] = local[k] - load<F>(before[k]);
      gap = gap - F(radius) * math::sqrt(dot(local, local));
      most += kRounding * radius;
    }
  }
  return lanes & (F(most) < gap);
}

// Keeps the planes that some lanes (bits) have just found.
template <class P, class F>
DRL_HD_CALLED void keep_separations(const typename P::Work& w, int number, const ContactPair& pair, uint32_t lanes) {
  using S = Scalar<F>;
  auto& remembered = remembered_of<P>(w, number);
  auto& kept = remembered.separations;
  for (int l = 0; l < kLanesOf<F> && !kept.is_set; ++l) {
    kept.reach[l] = S(kept.kNone);
    for (int k = 0; k < 3; ++k) kept.way[k][l] = kept.local[0][k][l] = kept.local[1][k][l] = 0;
  }
  kept.is_set = true;
  const auto each_lane = [&](const auto& body) DRL_LAMBDA {
    for (uint32_t left = lanes; left != 0; left &= left - 1) body(lowest_bit(left));
  };
  each_lane([&](int l) DRL_LAMBDA {
    for (int k = 0; k < 3; ++k) kept.way[k][l] = S(remembered.lane[l].apart[k]);
  });
  const F way[3] = {load<F>(kept.way[0]), load<F>(kept.way[1]), load<F>(kept.way[2])};
  S local[2][3][kLanesOf<F>], centers[kLanesOf<F>];
  store(centers, distance_of_centers<P>(w, pair, way));
  for (int side = 0; side < 2; ++side) {
    F turned[3];
    turn_into<P>(w, side == 0 ? pair.first : pair.second, way, turned);
    for (int k = 0; k < 3; ++k) store(local[side][k], turned[k]);
  }
  each_lane([&](int l) DRL_LAMBDA {
    for (int k = 0; k < 3; ++k) kept.local[0][k][l] = local[0][k][l], kept.local[1][k][l] = local[1][k][l];
    kept.reach[l] = centers[l] - S(remembered.lane[l].gap);
    remembered.lane[l].gap = 0;
  });
}

}  // namespace drl::inline DRL_ISA::physics

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

  bool is_set = false;  // otherwise no lane has a plane, and there are no numbers
  Lanes way[3];         // the normal, which leads from the second geom to the first
  Lanes local[2][3];  // it in the axes of each geom, then; of a sphere or a capsule, how far the axis reached along it
  Lanes reach;        // how far both geoms reached along it, from their centres towards each other
};
// What the lanes remember of a pair. A single lane has no Separations.
template <class F>
struct RememberedPair {
  struct Nothing {};
  PairMemory lane[kLanesOf<F>];
  [[no_unique_address]] std::conditional_t<(kLanesOf<F> > 1), Separations<F>, Nothing> separations;
};

// Returns the number of pairs of which lanes remember something: all or none.
template <class Sizes>
constexpr int count_remembered() {
  return Sizes::kRemembersPairs ? Sizes::kGroundPairs + Sizes::kPairs : 0;
}
// Returns what lane l remembers of a pair, or null.
template <class P>
DRL_HD PairMemory* memory_of([[maybe_unused]] const typename P::Work& w, [[maybe_unused]] int number,
                             [[maybe_unused]] int l) {
  if constexpr (count_remembered<P>() > 0)
    return &w.remembered[number].lane[l];
  else
    return nullptr;
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
  const auto& known = w.remembered[number].separations;
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
  auto& remembered = w.remembered[number];
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

// Which pairs of geoms are so near in some lane that they may touch: by the spheres around them, then by the boxes.
#pragma once

#include "drl/physics/boxes.hpp"
#include "drl/physics/contact_pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns the lanes in which two geoms are so near that they may touch, by the spheres around them.
template <class P, class F = typename P::Number>
DRL_HD Mask<F> may_touch(const typename P::Work& w, const auto& pair) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F apart[3] = {a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]};
  if constexpr (P::kTurnedGeoms > 0)
    if (const PairGeom& first = P::pair_geom(pair.first); first.kind == ShapeKind::plane) {
      const Axes<F>& plane = w.geom_turn[first.turn];
      const F normal[3] = {plane.turn[0][2], plane.turn[1][2], plane.turn[2][2]};
      return -grown<P>(parameters_of<P>(w), pair.reach) < dot(normal, apart);
    }
  return dot(apart, apart) < grown<P>(parameters_of<P>(w), pair.reach);
}

// Adds the half sizes of the box around a geom that lies along these axes.
template <class P, class F>
DRL_HD void add_extent(const typename P::Work& w, int geom, const Axes<F>& axes, F* wide) {
  const PairGeom& b = P::pair_geom(geom);
  const auto add = [&](const F* half) DRL_LAMBDA {  // half an edge of the second box
    F turned[3];
    axes.into(half, turned);
    for (int k = 0; k < 3; ++k) wide[k] = wide[k] + math::abs(turned[k]);
  };
  if (b.turn < 0) {
    for (int k = 0; k < 3; ++k) wide[k] = wide[k] + F(radius_of<P>(geom, parameters_of<P>(w)));
    add(w.geom_axis[geom].half);
  } else {
    const F scale = scale_of<P>(geom, parameters_of<P>(w));
    for (int j = 0; j < 3; ++j) {
      const auto& turn = w.geom_turn[b.turn].turn;
      F extent = F(b.extent[j]);
      if constexpr (P::kSizes) extent = scale * extent;
      const F half[3] = {extent * turn[0][j], extent * turn[1][j], extent * turn[2][j]};
      add(half);
    }
  }
}
// Returns the lanes in which one of the first geom's axes separates the boxes around two geoms. `apart` is the vector
// from the second centre to the first.
template <class P, class F>
DRL_HD Mask<F> are_separated(const typename P::Work& w, int first, int second, const F* apart, double margin) {
  const PairGeom& a = P::pair_geom(first);
  const Axes<F>& axes = w.geom_turn[a.turn];
  F off[3], wide[3];
  for (int k = 0; k < 3; ++k) {
    if constexpr (P::kSizes)
      wide[k] = math::fma(scale_of<P>(first, parameters_of<P>(w)), F(a.extent[k]), F(margin));
    else
      wide[k] = F(a.extent[k] + margin);
  }
  axes.into(apart, off);
  add_extent<P>(w, second, axes, wide);
  return (wide[0] < math::abs(off[0])) | (wide[1] < math::abs(off[1])) | (wide[2] < math::abs(off[2]));
}
// Returns the lanes in which the box around the second geom, which has axes, reaches a plane.
template <class P, class F>
DRL_HD Mask<F> reach_plane(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const PairGeom& geom = P::pair_geom(pair.second);
  const auto& plane = w.geom_turn[P::pair_geom(pair.first).turn].turn;
  const F normal[3] = {plane[0][2], plane[1][2], plane[2][2]};
  const F apart[3] = {b.center[0] - a.center[0], b.center[1] - a.center[1], b.center[2] - a.center[2]};
  F along[3], below(0), far(1);
  w.geom_turn[geom.turn].into(normal, along);
  for (int k = 0; k < 3; ++k) {
    below = math::fma(F(geom.extent[k]), math::abs(along[k]), below);
    far = far + math::abs(apart[k]);
  }
  if constexpr (P::kSizes) below = scale_of<P>(pair.second, parameters_of<P>(w)) * below;
  constexpr double kRounding = 1e-6;  // for a distance of 1
  return lanes & (dot(normal, apart) - below < math::fma(far, F(kRounding), F(pair.margin)));
}
// Returns the lanes in which two geoms are near: no axis of either separates the boxes around them.
template <class P, class F>
DRL_HD Mask<F> are_near(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F apart[3] = {a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]};
  const double margin = pair.margin + 1e-6;  // rounding
  lanes = lanes & !are_separated<P>(w, pair.second, pair.first, apart, margin);
  if (P::pair_geom(pair.first).turn >= 0 && any(lanes))
    lanes = lanes & !are_separated<P>(w, pair.first, pair.second, apart, margin);
  return lanes;
}

// Writes the geoms of the world into the work, unless smooth() does.
template <class P>
DRL_HD void place_still_geoms([[maybe_unused]] typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (P::kPairGroups > 0)
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
  if constexpr (P::kPairGroups > 0) w.has_still_geoms = true;
}
constexpr double kListSlack = 0.15;  // times the mean reach of pairs

// The pairs that are near in some lane, or would be if each of their geoms moved by half of a slack, and where the
// geoms were when they were listed (Verlet's lists, Phys. Rev. 159, 98, 1967). The other pairs are not near until a
// geom has moved that far, so what is listed changes no result.
template <class F, class Sizes>
struct ListedPairs {
  struct Listed {
    uint32_t number;  // without ground pairs
    int first, second;
    float reach;  // as in ContactPair
  };
  Listed pair[Sizes::kPairs + 1];  // with room for one more
  F center[Sizes::kPairGeoms][3];
  int size = 0, uses = 0;  // how often the list was used
  int pause = 0;           // how often pairs are not listed from now on, because geoms move too fast
  bool is_listed = false;
};
// Calls body(k, pair) for each pair, apart from ground pairs and pairs in groups for which passes(group) is false.
template <class P, class Passes, class Body>
DRL_HD void each_grouped_pair(const Passes& passes, const Body& body) {
  const auto visit = [&](int first, int end) DRL_LAMBDA {
    for (int k = first; k < end; ++k) body(k, P::pair(P::kGroundPairs + k));
  };
  if constexpr (P::kPairGroups > 0) {
    for (int g = 0, first = 0; g < P::kPairGroups; ++g) {
      const PairGroup& group = P::pair_group(g);
      if (passes(group)) visit(first, group.end);
      first = group.end;
    }
  } else {
    visit(0, P::kPairs);
  }
}
// Lists pairs anew.
template <class P>
DRL_HD_CALLED void list_pairs(typename P::Work& w) {
  using F = typename P::Number;
  using S = Scalar<F>;
  auto& listed = w.listed_pairs;
  // (r + s)^2 <= (1 + s / m) r^2 + (1 + m / s) s^2 for all positive reaches r, slacks s and means m.
  constexpr S more = 1 + kListSlack, plus = kListSlack * (1 + kListSlack) * P::kMeanReach * P::kMeanReach;
  const auto is_in_reach = [&](const auto& pair) DRL_LAMBDA {
    const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
    const F apart[3] = {a.center[0] - b.center[0], a.center[1] - b.center[1], a.center[2] - b.center[2]};
    if (P::pair_geom(pair.first).kind == ShapeKind::plane) return true;
    return any(dot(apart, apart) < F(more * static_cast<S>(pair.reach) + plus));
  };
  listed.size = listed.uses = 0, listed.is_listed = true;
  each_grouped_pair<P>(is_in_reach, [&](int k, const ContactPair& pair) DRL_LAMBDA {
    listed.pair[listed.size] = {static_cast<uint32_t>(k), pair.first, pair.second, pair.reach};
    listed.size += is_in_reach(pair) ? 1 : 0;
  });
  for (int g = 0; g < P::kPairGeoms; ++g)
    for (int k = 0; k < 3; ++k) listed.center[g][k] = w.geom_axis[g].center[k];
}
// Lists pairs anew if a geom has moved too far, unless the last list was hardly used. Returns whether they are listed.
template <class P>
DRL_HD bool keep_list(typename P::Work& w) {
  using F = typename P::Number;
  constexpr int kLeastUses = 2, kPause = 16;
  auto& listed = w.listed_pairs;
  if (listed.pause > 0) return --listed.pause, false;
  if (listed.is_listed) {
    constexpr double half = 0.49 * kListSlack * P::kMeanReach;  // a little less, for rounding
    Mask<F> is_valid = F(0) == F(0);                            // false if a centre is or was not a number
    for (int g = 0; g < P::kPairGeoms; ++g) {
      F moved[3];
      for (int k = 0; k < 3; ++k) moved[k] = w.geom_axis[g].center[k] - listed.center[g][k];
      is_valid = is_valid & (dot(moved, moved) <= F(half * half));
    }
    if (!any(!is_valid)) return ++listed.uses, true;
    listed.is_listed = listed.uses >= kLeastUses;
    if (!listed.is_listed) return listed.pause = kPause, false;
  }
  list_pairs<P>(w);
  return true;
}
// Lists the pairs that are near in some lane, apart from ground pairs.
template <class P>
DRL_HD void find_near_pairs(typename P::Work& w) {
  int number = 0;
  const auto add_if_near = [&](uint32_t k, const auto& pair) DRL_LAMBDA {
    w.near_pair[number] = P::kGroundPairs + k;
    number += any(may_touch<P>(w, pair)) ? 1 : 0;
  };
  bool is_listed = false;
  if constexpr (P::Work::kListsPairs) {
    is_listed = keep_list<P>(w);
    for (int k = 0; is_listed && k < w.listed_pairs.size; ++k)
      add_if_near(w.listed_pairs.pair[k].number, w.listed_pairs.pair[k]);
  }
  if (!is_listed)
    each_grouped_pair<P>([&](const auto& group) DRL_LAMBDA { return any(may_touch<P>(w, group)); }, add_if_near);
  w.near_pairs = number;
}

}  // namespace drl::inline DRL_ISA::physics

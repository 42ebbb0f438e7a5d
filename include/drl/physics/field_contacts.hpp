// Contacts of the world's height fields. Lanes find who is below the highest point of the field around it; the others'
// contacts with the field's prisms (drl/physics/height_fields.hpp) are computed lane by lane.
#pragma once

#include "drl/physics/contacts_by_lane.hpp"
#include "drl/physics/height_fields.hpp"
#include "drl/physics/near_pairs.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// Returns the highest point of the field under a box, or of the tiles under a large box. Returns -1e30 beside the
// field. `middle` and `half` are the box's centre and half sizes along x and y, in the field's axes.
DRL_HD double highest_under(const HeightMap& map, const double* middle, const double* half) {
  constexpr int kMostCells = 6;  // along each side, beyond which tiles are faster
  double low[2], high[2];        // in cells
  bool is_large = false;
  for (int k = 0; k < 2; ++k) {
    const int cells = (k == 0 ? map.columns : map.rows) - 1;
    const double scale = cells / (2.0 * map.size[k]);
    low[k] = (middle[k] - half[k] + map.size[k]) * scale, high[k] = (middle[k] + half[k] + map.size[k]) * scale;
    if (!(low[k] < cells && high[k] > 0)) return -1e30;  // or not a number
    low[k] = low[k] < 0 ? 0 : low[k], high[k] = high[k] > cells ? cells : high[k];
    is_large = is_large || high[k] - low[k] > kMostCells;
  }
  const int columns = is_large ? map.tile_columns() : map.columns, rows = is_large ? map.tile_rows() : map.rows;
  const double scale = is_large ? 1.0 / HeightMap::kTile : 1;
  const float* from = is_large ? map.tiles : map.heights;
  int last[2];
  for (int k = 0; k < 2; ++k) {
    const int most = (k == 0 ? columns : rows) - 1, next = static_cast<int>(scale * high[k]) + (is_large ? 0 : 1);
    last[k] = next < most ? next : most;
  }
  float highest = -1e30f;
  for (int row = static_cast<int>(scale * low[1]); row <= last[1]; ++row)
    for (int column = static_cast<int>(scale * low[0]); column <= last[0]; ++column) {
      const float here = from[row * columns + column];
      highest = here > highest ? here : highest;
    }
  return static_cast<double>(highest) * map.size[2];
}

// Returns those of these lanes in which the second geom of a pair may touch the field.
template <class P, class F>
DRL_HD Mask<F> may_touch_field(const typename P::Work& w, const ContactPair& pair, const HeightMap& map,
                               Mask<F> lanes) {
  using S = Scalar<F>;
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F apart[3] = {b.center[0] - a.center[0], b.center[1] - a.center[1], b.center[2] - a.center[2]};
  const F slack = F(pair.margin + 1e-4);  // rounding
  const Axes<F>& axes = w.geom_turn[P::pair_geom(pair.first).turn];
  F off[3], wide[3] = {slack, slack, slack};
  axes.into(apart, off);
  add_extent<P>(w, pair.second, axes, wide);
  const F low = off[2] - wide[2], high = off[2] + wide[2];
  lanes = lanes & (low < F(map.size[2] * static_cast<double>(map.highest))) & (F(-map.size[3]) < high);
  if (!any(lanes)) return lanes;
  S is_near[kLanesOf<F>] = {};
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    const double middle[2] = {static_cast<double>(lane(off[0], l)), static_cast<double>(lane(off[1], l))};
    const double half[2] = {static_cast<double>(lane(wide[0], l)), static_cast<double>(lane(wide[1], l))};
    is_near[l] = static_cast<double>(lane(low, l)) < highest_under(map, middle, half) ? 1 : 0;
  }
  return lanes & (F(0) < load<F>(is_near));
}

// Calls body(pair, lanes, contact) for each contact with the field that exists in some of these lanes.
template <class P, class F, class Body>
DRL_HD_CALLED void each_contact_with_field(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  const ContactPair& pair = P::pair(number);
  const PairGeom& ground = P::pair_geom(pair.first);
  const HeightMap& map = w.fields.height_maps[ground.hull];
  if (map.heights == nullptr) return;
  lanes = may_touch_field<P, F>(w, pair, map, lanes);
  if (!any(lanes)) return;
  ContactsOfLanes<F, OverField::kMostContacts> contacts;
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    HeightField field{map, {0, 0, 0}, {}};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) field.turn[i][k] = lane(w.geom_turn[ground.turn].turn[i][k], l);
    Hull hull;
    const Shape shape = shape_of<P>(w, pair.second, pair.first, l, hull);
    OverField(field, shape, pair.margin).each_contact(P::convex(), [&](const ShapeContact& contact) DRL_LAMBDA {
      contacts.add(l, contact);
    });
  }
  contacts.each(pair, lanes, w.geom_axis[pair.first].center, body);
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

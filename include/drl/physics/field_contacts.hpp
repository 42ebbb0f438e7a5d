// Contacts of the world's height fields. Lanes find who is below the highest point of the field around it, and the
// contacts of spheres whose centres are outside of the field's prisms (drl/physics/height_fields.hpp). Other contacts
// are computed lane by lane.
#pragma once

#include "drl/physics/contacts_by_lane.hpp"
#include "drl/physics/height_fields.hpp"
#include "drl/physics/near_pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns the highest point of the tiles under a box in each of these lanes, or -1e30 beside the field. `low` and
// `high` [2] are the box's ends along x and y, in the field's axes.
template <class F>
DRL_HD F highest_under(const HeightMap& map, const F* low, const F* high, Mask<F> lanes) {
  F first[2], last[2], highest = F(-1e30f);
  for (int k = 0; k < 2; ++k) {
    const int cells = (k == 0 ? map.columns : map.rows) - 1, tiles = k == 0 ? map.tile_columns() : map.tile_rows();
    const double scale = cells / (2.0 * map.size[k] * HeightMap::kTile);
    const auto tile_at = [&](F x) DRL_LAMBDA { return F(scale) * (x + F(map.size[k])); };
    // max() has 0 as its first argument, so that it returns 0 for NaN. Conversions to integers truncate.
    const auto whole = [&](F x) DRL_LAMBDA {
      return drl::convert<F>(drl::convert<Int<F>>(math::min(math::max(F(0), x), F(tiles - 1))));
    };
    const F from = tile_at(low[k]), to = tile_at(high[k]);
    lanes = lanes & (from < F(tiles)) & (F(0) <= to);
    first[k] = whole(from), last[k] = whole(to);
  }
  for (F row = first[1]; any(lanes & !(last[1] < row)); row = row + F(1)) {
    const Int<F> at_row = drl::convert<Int<F>>(math::min(row, last[1])) * Int<F>(map.tile_columns());
    for (F column = first[0]; any(lanes & !(last[0] < column)); column = column + F(1))
      highest = math::max(highest, gather<F>(map.tiles, at_row + drl::convert<Int<F>>(math::min(column, last[0]))));
  }
  return math::select(lanes, F(map.size[2]) * highest, F(-1e30f));
}

// Computes the centre and the half sizes of the box around the second geom of a pair, in the axes of the field.
template <class P, class F>
DRL_HD void box_over_field(const typename P::Work& w, const ContactPair& pair, F* off, F* wide) {
  const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
  const F apart[3] = {b.center[0] - a.center[0], b.center[1] - a.center[1], b.center[2] - a.center[2]};
  const Axes<F>& axes = w.geom_turn[P::pair_geom(pair.first).turn];
  axes.into(apart, off);
  for (int k = 0; k < 3; ++k) wide[k] = F(pair.margin + 1e-4);  // rounding
  add_extent<P>(w, pair.second, axes, wide);
}
// Returns the highest point of a field under the second geoms of the pairs [begin, end), which have the same first
// geom, or -1e30 in lanes that are beside the field.
template <class P, class F>
DRL_HD F highest_under_all(const typename P::Work& w, int begin, int end) {
  const HeightMap& map = w.fields.height_maps[P::pair_geom(P::pair(begin).first).hull];
  if (map.heights == nullptr) return F(-1e30f);
  F low[2] = {F(1e30f), F(1e30f)}, high[2] = {F(-1e30f), F(-1e30f)};
  for (int k = begin; k < end; ++k) {
    F off[3], wide[3];
    box_over_field<P>(w, P::pair(k), off, wide);
    for (int i = 0; i < 2; ++i)
      low[i] = math::min(low[i], off[i] - wide[i]), high[i] = math::max(high[i], off[i] + wide[i]);
  }
  return highest_under(map, low, high, F(0) == F(0));
}
// Returns the lanes in which the second geom of a pair is not above this height over the field.
template <class P, class F>
DRL_HD Mask<F> is_below(const typename P::Work& w, const ContactPair& pair, F height) {
  F off[3], wide[3];
  box_over_field<P>(w, pair, off, wide);
  return off[2] - wide[2] < height + F(1e-5);  // rounding
}

// Returns those of these lanes in which the second geom of a pair may touch the field.
template <class P, class F>
DRL_HD Mask<F> may_touch_field(const typename P::Work& w, const ContactPair& pair, const HeightMap& map,
                               Mask<F> lanes) {
  F off[3], wide[3];
  box_over_field<P>(w, pair, off, wide);
  const F low = off[2] - wide[2], high = off[2] + wide[2];
  lanes = lanes & (low < F(map.size[2] * static_cast<double>(map.highest))) & (F(-map.size[3]) < high);
  if (!any(lanes)) return lanes;
  const F ends[2][2] = {{off[0] - wide[0], off[1] - wide[1]}, {off[0] + wide[0], off[1] + wide[1]}};
  return lanes & (low < highest_under(map, ends[0], ends[1], lanes));
}

// The point of a prism that is nearest to another point outside of it. Its triangle's corners have the same x and y in
// all lanes, and follow each other counter-clockwise, seen from above. Lengths are in m.
template <class F>
struct NearestOfPrism {
  F apart[3] = {F(0), F(0), F(0)};  // from the point of the prism
  F square = F(1e30f);              // of the distance
  Mask<F> is_inside;  // the lanes in which the other point is in the prism or below its base, where nothing is found

  // Finds it in these lanes. slope [2]: of the triangle along x and y
  DRL_HD void find(const double (&corner)[3][2], const F (&top)[3], const F (&slope)[2], const F (&point)[3], F base,
                   Mask<F> lanes) {
    const F across[2] = {point[0] - F(corner[0][0]), point[1] - F(corner[0][1])};
    const F above = point[2] - math::fma(slope[1], across[1], math::fma(slope[0], across[0], top[0]));
    const F share = above / math::fma(slope[1], slope[1], math::fma(slope[0], slope[0], F(1)));
    const F to_foot[3] = {-(share * slope[0]), -(share * slope[1]), share};  // from the foot on the plane
    Mask<F> is_over = F(0) < above;
    is_inside = !is_over;
    for (int k = 0; k < 3; ++k) {
      const double *from = corner[k], *to = corner[k == 2 ? 0 : k + 1];
      const auto beyond = [&](F x, F y) DRL_LAMBDA {
        return (x - F(from[0])) * F(to[1] - from[1]) - (y - F(from[1])) * F(to[0] - from[0]);
      };
      is_over = is_over & !(F(0) < beyond(point[0] - to_foot[0], point[1] - to_foot[1]));
      is_inside = is_inside & !(F(0) < beyond(point[0], point[1]));
    }
    is_inside = is_inside | !(base < point[2]);
    take(is_over, to_foot);
    if (!any(lanes & !is_over)) return;
    // In lanes that have a foot in the triangle, an edge may be nearer by rounding. They must not take it, because they
    // would not if they were alone.
    for (int k = 0; k < 3; ++k) {
      const int next = k == 2 ? 0 : k + 1;
      const double along[2] = {corner[next][0] - corner[k][0], corner[next][1] - corner[k][1]};
      const double flat = along[0] * along[0] + along[1] * along[1];
      const F rise = top[next] - top[k];
      const F to[3] = {point[0] - F(corner[k][0]), point[1] - F(corner[k][1]), point[2] - top[k]};
      const F on_flat = math::fma(to[1], F(along[1]), to[0] * F(along[0]));
      const auto take_at = [&](Mask<F> lanes, F at, const F* height) DRL_LAMBDA {
        at = math::clamp(at, F(0), F(1));
        const F off[3] = {to[0] - at * F(along[0]), to[1] - at * F(along[1]),
                          height != nullptr ? *height : to[2] - at * rise};
        take(lanes, off);
      };
      take_at(!is_over, math::fma(to[2], rise, on_flat) / math::fma(rise, rise, F(flat)), nullptr);
      const F at_wall = on_flat * F(1 / flat), level = F(0);
      take_at(!is_over & !(math::clamp(at_wall, F(0), F(1)) * rise < to[2]), at_wall, &level);
    }
  }

 private:
  DRL_HD void take(Mask<F> lanes, const F* off) {
    const F here = dot(off, off);
    const Mask<F> is_nearer = lanes & (here < square);
    square = math::select(is_nearer, here, square);
    for (int k = 0; k < 3; ++k) apart[k] = math::select(is_nearer, off[k], apart[k]);
  }
};

// The prisms that a sphere or a capsule may touch in each lane. All are found in lanes, by the planes of their tops and
// by their walls. So are the contacts of spheres; what is left is computed lane by lane.
template <class P, class F>
class NearPrisms {
  using S = Scalar<F>;
  static constexpr int kMostCells = 32, kLanes = kLanesOf<F>;

 public:
  // Finds a sphere's contacts, and adds them to `contacts`, with points relative to its centre. Returns false if these
  // lanes' cells are too many; then nothing is found.
  template <class Contacts>
  DRL_HD bool find(const typename P::Work& w, const ContactPair& pair, const HeightMap& map, Mask<F> lanes,
                   Contacts& contacts) {
    place(w, pair, map);
    int most[2] = {1, 1};
    S low[2][kLanes], high[2][kLanes];
    for (int k = 0; k < 2; ++k) {
      const F half = math::abs(half_[k]) + F(wide_[k]);
      store(low[k], at_[k] - half), store(high[k], at_[k] + half);
    }
    for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
      const int l = lowest_bit(left);
      for (int k = 0; k < 2; ++k) {
        const int cells = count_[k] - 1;
        if (!(low[k][l] < static_cast<S>(cells) && high[k][l] > 0)) continue;  // beside the field: cell 0 is not near
        first_[k][l] = low[k][l] < 0 ? 0 : static_cast<int>(low[k][l]);
        const int last = high[k][l] < static_cast<S>(cells) ? static_cast<int>(high[k][l]) : cells - 1;
        most[k] = last - first_[k][l] + 1 > most[k] ? last - first_[k][l] + 1 : most[k];
      }
    }
    if (most[0] * most[1] > kMostCells) return false;
    columns_ = most[0];
    F local[2];  // the centre, from the first cell's corner, in m
    for (int k = 0; k < 2; ++k) {
      S off[kLanes];
      store(off, off_[k]);
      for (int l = 0; l < kLanes; ++l)
        off[l] = static_cast<S>(static_cast<double>(off[l]) + map.size[k] - first_[k][l] / scale_[k]);
      from_[k] = load<F>(first_[k]);
      at_[k] = at_[k] - from_[k], local[k] = load<F>(off);
    }
    const bool is_sphere = !any(F(0) < dot(half_, half_));
    const Axes<F>& axes = w.geom_turn[P::pair_geom(pair.first).turn];
    const F center[3] = {local[0], local[1], at_[2]};
    for (int row = 0; row < most[1]; ++row)
      find_row(map, row, lanes, [&](int side, int column, const F* height, const F* slope, Mask<F> near) DRL_LAMBDA {
        if (is_sphere) near = add_contacts(pair, map, axes, center, {side, row, column, height, slope}, near, contacts);
        for (uint32_t left = lane_bits(near); left != 0; left &= left - 1)
          sides_[side][lowest_bit(left)] |= uint32_t{1} << (row * columns_ + column);
      });
    return true;
  }
  DRL_HD OverField::Cells of_lane(int l) const {
    return {first_[1][l], first_[0][l], columns_, {sides_[0][l], sides_[1][l]}};
  }
  DRL_HD bool has_any(int l) const { return (sides_[0][l] | sides_[1][l]) != 0; }

 private:
  // A prism of the cell in this row and column, counted from each lane's first.
  struct PrismOfLanes {
    int side, row, column;  // side 0 is the one with the higher row
    const F* height;        // [4], of the cell's corners: (0, 0), (1, 0), (0, 1), (1, 1) along x and y
    const F* slope;         // [2], in m per cell
  };
  // Adds a sphere's contacts with a prism. `center` [3] is the sphere's, from the corner of the lanes' first cell.
  // Returns the lanes in which it lies in the prism, whose contacts are not found.
  template <class Contacts>
  DRL_HD Mask<F> add_contacts(const ContactPair& pair, const HeightMap& map, const Axes<F>& axes, const F (&center)[3],
                              const PrismOfLanes& prism, Mask<F> lanes, Contacts& contacts) const {
    constexpr int kCorner[2][3] = {{2, 0, 3}, {0, 1, 3}};
    // With ConvexOptions::is_stable, the prism is grown by half of the margin, too, and not raised by the whole.
    const bool is_stable = P::convex().is_stable;
    const double size = P::pair_geom(pair.second).radius, radius = size + 0.5 * pair.margin;
    const double grown = is_stable ? 0.5 * pair.margin : 0, reach = radius + grown,
                 raised = is_stable ? 0 : pair.margin;
    const double wide = is_stable ? size + pair.margin : size;  // half of the box in which prisms are tried
    double corner[3][2];
    F top[3];
    for (int k = 0; k < 3; ++k) {
      const int c = kCorner[prism.side][k];
      corner[k][0] = (prism.column + c % 2) / scale_[0], corner[k][1] = (prism.row + c / 2) / scale_[1];
      top[k] = prism.height[c] + F(raised);
    }
    const F slope[2] = {F(scale_[0]) * prism.slope[0], F(scale_[1]) * prism.slope[1]};
    NearestOfPrism<F> nearest;
    nearest.find(corner, top, slope, center, F(-map.size[3]), lanes);
    const double least = P::convex().tolerance;
    const Mask<F> is_outside = lanes & !nearest.is_inside & (F(least * least) < nearest.square);
    // MuJoCo only tries prisms of cells below the sphere that are not wholly lower than it.
    const F x = at_[0] - F(prism.column), y = at_[1] - F(prism.row);
    const Mask<F> is_tried = (math::max(x - F(1), -x) < F(scale_[0] * wide)) &
                             (math::max(y - F(1), -y) < F(scale_[1] * wide)) &
                             !(math::max(math::max(top[0], top[1]), top[2]) < at_[2] - F(wide));
    const Mask<F> touches = is_outside & is_tried & (nearest.square < F(reach * reach));
    if (any(touches)) {
      const F distance = math::sqrt(nearest.square), to_middle = F(-0.5) * (F(1) + F(radius - grown) / distance);
      F point[3], normal[3];
      axes.out_of(nearest.apart, normal);
      for (int k = 0; k < 3; ++k) point[k] = to_middle * normal[k], normal[k] = normal[k] / distance;
      contacts.add(touches, point, normal, distance - F(is_stable ? size : radius));
    }
    return lanes & !is_outside;
  }
  // Computes where the geom is. Lengths along x and y are in cells.
  DRL_HD void place(const typename P::Work& w, const ContactPair& pair, const HeightMap& map) {
    const GeomAxis<F>&a = w.geom_axis[pair.first], &b = w.geom_axis[pair.second];
    const F apart[3] = {b.center[0] - a.center[0], b.center[1] - a.center[1], b.center[2] - a.center[2]};
    const Axes<F>& axes = w.geom_turn[P::pair_geom(pair.first).turn];
    axes.into(apart, off_), axes.into(b.half, half_);
    reach_ = P::pair_geom(pair.second).radius + 1.5 * pair.margin + 1e-4;  // rounding
    count_[0] = map.columns, count_[1] = map.rows, at_[2] = off_[2];
    for (int k = 0; k < 2; ++k) {
      const double scale = (count_[k] - 1) / (2 * map.size[k]);
      at_[k] = F(scale) * (off_[k] + F(map.size[k])), half_[k] = F(scale) * half_[k];
      scale_[k] = scale, wide_[k] = scale * reach_;
      for (int& x : first_[k]) x = 0;
      for (uint32_t& x : sides_[k]) x = 0;
    }
  }
  // Finds the heights of two points of the grid in each lane: the one in this column, and the next in its row.
  DRL_HD void find_heights(const HeightMap& map, int row, int column, F& here, F& next) const {
    const F r = math::min(from_[1] + F(row), F(map.rows - 1)), c = math::min(from_[0] + F(column), F(map.columns - 2));
    gather_two(map.heights, drl::convert<Int<F>>(r) * Int<F>(map.columns) + drl::convert<Int<F>>(c), here, next);
    here = F(map.size[2]) * here, next = F(map.size[2]) * next;
  }
  // Calls body(side, column, height, slope, lanes), as in PrismOfLanes, for each prism of a row that is near in some of
  // these lanes.
  template <class Body>
  DRL_HD void find_row(const HeightMap& map, int row, Mask<F> lanes, const Body& body) {
    const F y = at_[1] - F(row), out_y = math::max(y - F(1), -y) - math::abs(half_[1]);
    const Mask<F> in_row = lanes & (out_y < F(wide_[1])) & (from_[1] + F(row) < F(map.rows - 1));
    if (!any(in_row)) return;
    // The walls along the cell's diagonal.
    const F across =
        math::abs(half_[0] - half_[1]) + F(reach_ * std::sqrt(scale_[0] * scale_[0] + scale_[1] * scale_[1]));
    for (int column = 0; column < columns_; ++column) {
      F low, next_low, high, next_high;  // of the cell's corners
      find_heights(map, row, column, low, next_low), find_heights(map, row + 1, column, high, next_high);
      const F x = at_[0] - F(column), out_x = math::max(x - F(1), -x) - math::abs(half_[0]);
      const Mask<F> here = in_row & (out_x < F(wide_[0])) & (from_[0] + F(column) < F(map.columns - 1));
      const F height[4] = {low, next_low, high, next_high};
      const F slope[2][2] = {{next_high - high, high - low}, {next_low - low, next_high - next_low}};
      Mask<F> inside[2];  // of the walls
      inside[0] = here & (x - y < across), inside[1] = here & (y - x < across);
      for (int side = 0; side < 2; ++side)
        if (const Mask<F> near = inside[side] & is_near(low, slope[side][0], slope[side][1], x, y); any(near))
          body(side, column, height, slope[side], near);
    }
  }
  // Returns the lanes in which the geom is not above the plane through the cell's first corner with these slopes.
  DRL_HD Mask<F> is_near(F corner, F slope_x, F slope_y, F x, F y) const {
    const F above = at_[2] - math::fma(slope_y, y, math::fma(slope_x, x, corner));
    const F least = above - math::abs(half_[2] - math::fma(slope_y, half_[1], slope_x * half_[0]));
    const F steep_x = F(scale_[0]) * slope_x, steep_y = F(scale_[1]) * slope_y;
    const F bound = F(reach_ * reach_) * math::fma(steep_x, steep_x, math::fma(steep_y, steep_y, F(1)));
    return (least < F(0)) | (least * least < bound);
  }

  F at_[3], half_[3];  // the geom's centre, and the vector to the end of its axis
  F off_[3];           // the geom's centre from the field's, in m
  double reach_, scale_[2], wide_[2];
  int count_[2], columns_ = 0;  // points of the grid; cells in each row that some lane may need
  int first_[2][kLanes];        // the first column and row of each lane
  F from_[2];                   // first_ as numbers of F
  uint32_t sides_[2][kLanes];
};

// Calls body(pair, lanes, contact) for each contact with the field that exists in some of these lanes.
template <class P, class F, class Body>
DRL_HD_CALLED void each_contact_with_field(const typename P::Work& w, int number, Mask<F> lanes, const Body& body) {
  const ContactPair& pair = P::pair(number);
  const PairGeom& ground = P::pair_geom(pair.first);
  const HeightMap& map = w.fields.height_maps[ground.hull];
  if (map.heights == nullptr) return;
  lanes = may_touch_field<P, F>(w, pair, map, lanes);
  if (!any(lanes)) return;
  NearPrisms<P, F> near;
  ContactsOfLanes<F, OverField::kMostContacts> contacts;  // points are relative to the second geom's centre
  const bool knows_prisms = P::pair_geom(pair.second).turn < 0 && near.find(w, pair, map, lanes, contacts);
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    if (knows_prisms && !near.has_any(l)) continue;
    HeightField field{map, {0, 0, 0}, {}};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) field.turn[i][k] = lane(w.geom_turn[ground.turn].turn[i][k], l);
    Hull hull;
    const Shape shape = shape_of<P>(w, pair.second, pair.first, l, hull);
    OverField over(field, shape, pair.margin, P::convex());
    const auto add = [&](ShapeContact contact) DRL_LAMBDA {
      for (int k = 0; k < 3; ++k) contact.point[k] -= shape.position[k];
      contacts.add(l, contact);
    };
    if (knows_prisms)
      over.each_contact(near.of_lane(l), add);
    else
      over.each_contact(add);
  }
  contacts.each(pair, lanes, w.geom_axis[pair.second].center, body);
}

}  // namespace drl::inline DRL_ISA::physics

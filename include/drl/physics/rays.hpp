// Rays against the planes and the height field of the world. A ray is all points from + x along with x >= 0; `along`
// needs no particular length. Each function returns the least x at which the ray meets a surface, or -1, as libmujoco's
// mj_ray does.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/physics/height_map.hpp"

namespace drl::inline DRL_ISA::physics {

// A plane of the world: a point, the axes of its frame as columns (z is its normal), and its half sizes along x and y,
// or 0 for no limit.
struct WorldPlane {
  double pos[3], turn[9], size[2];
};

constexpr double kLeastAlong = 1e-15;  // MuJoCo's mjMINVAL: a ray is parallel to a surface below

// Returns the nearer of two results.
template <class F>
DRL_HD F nearer(F a, F b) {
  return math::select((b >= F(0)) & ((a < F(0)) | (b < a)), b, a);
}

// A plane, in its own axes, with half sizes along x and y, or 0 for no limit. It is met from above only.
template <class F>
DRL_HD F ray_to_plane(const double* size, const F* from, const F* along) {
  const Mask<F> falls = along[2] < F(-kLeastAlong);
  const F x = from[2] / math::select(falls, -along[2], F(1));
  Mask<F> meets = falls & (x >= F(0));
  for (int k = 0; k < 2; ++k)
    if (size[k] > 0) meets = meets & (math::abs(from[k] + x * along[k]) <= F(size[k]));
  return math::select(meets, x, F(-1));
}
template <class F>
DRL_HD F ray_to_plane(const WorldPlane& plane, const F* from, const F* along) {
  F p[3] = {F(0), F(0), F(0)}, v[3] = {F(0), F(0), F(0)};  // in the plane's frame
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 3; ++j) {
      p[k] = p[k] + F(plane.turn[3 * j + k]) * (from[j] - F(plane.pos[j]));
      v[k] = v[k] + F(plane.turn[3 * j + k]) * along[j];
    }
  return ray_to_plane(plane.size, p, v);
}

// A box, whose faces are met from both sides: [low, high] along each axis.
template <class F>
DRL_HD F ray_to_box(const double* low, const double* high, const F* from, const F* along) {
  F nearest = F(-1);
  for (int k = 0; k < 3; ++k) {
    const Mask<F> moves = math::abs(along[k]) > F(kLeastAlong);
    const F divisor = math::select(moves, along[k], F(1));
    const double faces[2] = {low[k], high[k]};
    for (const double face : faces) {
      const F x = (F(face) - from[k]) / divisor;
      Mask<F> meets = moves & (x >= F(0));
      for (int j = 0; j < 3; ++j)
        if (j != k) {
          const F at = from[j] + x * along[j];
          meets = meets & (F(low[j]) <= at) & (at <= F(high[j]));
        }
      nearest = nearer(nearest, math::select(meets, x, F(-1)));
    }
  }
  return nearest;
}

// The walk of a ray over the cells of a height field, in the field's axes. Within half a cell, on one side of its
// diagonal, the surface is a triangle, and the ray's height above it is linear in x.
template <class F>
class FieldRay {
 public:
  DRL_HD FieldRay(const HeightMap& map, const F* from, const F* along) : map_(map), from_(from), along_(along) {
    clip();
    for (int k = 0; k < 2; ++k) {
      const double cells = last(k) + 1;
      start_[k] = (from[k] + F(map.size[k])) * F(cells / (2 * map.size[k]));
      rate_[k] = along[k] * F(cells / (2 * map.size[k]));
      const F at = math::clamp(start_[k] + begin_ * rate_[k], F(0), F(cells));
      const F cell = math::min(math::floor(at), F(last(k)));
      cell_[k] = math::select(cell >= F(0), cell, F(0));  // also if a number is not finite
    }
  }

  DRL_HD F nearest() {
    F x = begin_, nearest = F(-1);
    bool is_first = true;
    while_any(begin_ <= end_, [&](Mask<F> walking) DRL_LAMBDA {
      read_corners();
      const F leaves[2] = {leaves_cell(0), leaves_cell(1)};
      const F out = math::max(x, math::min(end_, math::min(leaves[0], leaves[1])));
      const F middle = math::clamp(diagonal(x), x, out);
      const Side first = side(F(0.5) * (x + middle)), second = side(F(0.5) * (middle + out));
      if (is_first)  // the ray may come through a side of the field, below its edge
        nearest = math::select(walking & (begin_ > F(0)) & (above(first, x) < F(0)), x, nearest);
      F met = crossing(first, x, middle);
      met = math::select(met < F(0), crossing(second, middle, out), met);
      nearest = math::select(walking & (nearest < F(0)), met, nearest);

      Mask<F> goes_on = walking & (out < end_) & (nearest < F(0));
      const Mask<F> along_x = leaves[0] <= leaves[1];
      for (int k = 0; k < 2; ++k) {
        const F next = cell_[k] + math::select(rate_[k] > F(0), F(1), F(-1));
        const Mask<F> steps = goes_on & (k == 0 ? along_x : !along_x);
        const Mask<F> leaves_grid = steps & ((next < F(0)) | (F(last(k)) < next));
        goes_on = goes_on & !leaves_grid;
        cell_[k] = math::select(steps & goes_on, next, cell_[k]);
      }
      // or leave through one
      const Mask<F> ends = walking & !goes_on & (nearest < F(0)) & (above(second, out) < F(0));
      nearest = math::select(ends, out, nearest);
      x = math::select(goes_on, out, x);
      is_first = false;
      return goes_on;
    });
    return nearest;
  }

 private:
  // The triangle on one side of the diagonal: which one, and the height of its third corner.
  struct Side {
    Mask<F> is_upper;
    F between;
  };

  DRL_HD int last(int k) const { return (k == 0 ? map_.columns : map_.rows) - 2; }
  // Finds the part of the ray in the box that the surface fills.
  DRL_HD void clip() {
    constexpr double kFar = 1e30;
    begin_ = F(0), end_ = F(kFar);
    for (int k = 0; k < 3; ++k) {
      const F low = k == 2 ? F(0) : F(-map_.size[k]), high = F(map_.size[k]);
      const Mask<F> moves = math::abs(along_[k]) > F(kLeastAlong), inside = (low <= from_[k]) & (from_[k] <= high);
      const F divisor = math::select(moves, along_[k], F(1));
      const F a = (low - from_[k]) / divisor, b = (high - from_[k]) / divisor;
      const F in = math::select(moves, math::min(a, b), math::select(inside, F(-kFar), F(kFar)));
      const F out = math::select(moves, math::max(a, b), math::select(inside, F(kFar), F(-kFar)));
      begin_ = math::max(begin_, in), end_ = math::min(end_, out);
    }
  }
  DRL_HD void read_corners() {
    using S = Scalar<F>;
    constexpr int kLanes = kLanesOf<F>;
    S columns[kLanes], rows[kLanes], corner[4][kLanes];
    store(columns, cell_[0]), store(rows, cell_[1]);
    for (int l = 0; l < kLanes; ++l) {
      const float* at = map_.heights + static_cast<int>(rows[l]) * map_.columns + static_cast<int>(columns[l]);
      corner[0][l] = static_cast<S>(at[0]), corner[1][l] = static_cast<S>(at[1]);
      corner[2][l] = static_cast<S>(at[map_.columns]), corner[3][l] = static_cast<S>(at[map_.columns + 1]);
    }
    for (int c = 0; c < 4; ++c) corner_[c] = F(map_.size[2]) * load<F>(corner[c]);
  }
  // Returns where the ray leaves its cell along x or y.
  DRL_HD F leaves_cell(int k) const {
    const Mask<F> moves = math::abs(along_[k]) > F(kLeastAlong);
    const F border = cell_[k] + math::select(rate_[k] > F(0), F(1), F(0));
    return math::select(moves, (border - start_[k]) / math::select(moves, rate_[k], F(1)), F(1e30));
  }
  // Returns where it crosses the cell's diagonal, or `otherwise` if it is parallel to it.
  DRL_HD F diagonal(F otherwise) const {
    const F rate = rate_[0] - rate_[1], apart = (start_[0] - cell_[0]) - (start_[1] - cell_[1]);
    const Mask<F> crosses = math::abs(rate) > F(kLeastAlong);
    return math::select(crosses, -apart / math::select(crosses, rate, F(1)), otherwise);
  }
  DRL_HD F in_cell(int k, F x) const { return start_[k] - cell_[k] + x * rate_[k]; }
  DRL_HD Side side(F x) const {
    const Mask<F> is_upper = in_cell(0, x) < in_cell(1, x);
    return {is_upper, math::select(is_upper, corner_[2], corner_[1])};
  }
  // Returns the ray's height above the plane of a triangle.
  DRL_HD F above(const Side& side, F x) const {
    const F u = in_cell(0, x), v = in_cell(1, x);
    const F first = math::select(side.is_upper, v, u), second = math::select(side.is_upper, u, v);
    const F surface = corner_[0] + first * (side.between - corner_[0]) + second * (corner_[3] - side.between);
    return from_[2] + x * along_[2] - surface;
  }
  // Returns where the ray crosses the plane of a triangle between two points, or -1.
  DRL_HD F crossing(const Side& side, F x, F out) const {
    const F before = above(side, x), after = above(side, out);
    const Mask<F> crosses = ((before >= F(0)) & (after <= F(0))) | ((before <= F(0)) & (after >= F(0)));
    const F change = before - after;
    const F share = math::select(change == F(0), F(0), before / math::select(change == F(0), F(1), change));
    return math::select(crosses, x + share * (out - x), F(-1));
  }

  const HeightMap& map_;
  const F *from_, *along_;
  F begin_, end_;
  F start_[2], rate_[2], cell_[2];  // in cells; cell_: column and row
  F corner_[4];                     // heights in m at (0, 0), (1, 0), (0, 1) and (1, 1) of the cell
};

// A height field at the world's origin, with its base below. Heights must be set.
template <class F>
DRL_HD F ray_to_field(const HeightMap& map, const F* from, const F* along) {
  const double low[3] = {-map.size[0], -map.size[1], -map.size[3]}, high[3] = {map.size[0], map.size[1], 0};
  return nearer(ray_to_box(low, high, from, along), FieldRay<F>(map, from, along).nearest());
}

// The height of a height field below a point.

// Returns the height of the surface at points (x, y), in the field's axes and in m: where MuJoCo's mj_ray meets it from
// above. A cell consists of two triangles, which share its diagonal along +x +y. Beside the field, it returns the
// height at the nearest point of the field's edge; if x or y is not a number, that at an edge. Heights must be set.
template <class F>
DRL_HD F height_at(const HeightMap& map, F x, F y) {
  const int last_column = map.columns - 2, last_row = map.rows - 2;
  // max() has 0 as its first argument, so that it returns 0 for NaN.
  const F u =
      math::min(math::max(F(0), (x + F(map.size[0])) * F((last_column + 1) / (2 * map.size[0]))), F(last_column + 1));
  const F v = math::min(math::max(F(0), (y + F(map.size[1])) * F((last_row + 1) / (2 * map.size[1]))), F(last_row + 1));
  const F column = math::min(math::floor(u), F(last_column)), row = math::min(math::floor(v), F(last_row));
  const Int<F> at = drl::convert<Int<F>>(row) * Int<F>(map.columns) + drl::convert<Int<F>>(column);
  F low, beside, above, high;  // the heights of the cell's corners
  gather_two(map.heights, at, low, beside), gather_two(map.heights + map.columns, at, above, high);
  const F along_x = u - column, along_y = v - row;
  const Mask<F> is_upper = along_x < along_y;
  const F between = math::select(is_upper, above, beside);
  const F first = math::select(is_upper, along_y, along_x), second = math::select(is_upper, along_x, along_y);
  return F(map.size[2]) * (low + first * (between - low) + second * (high - between));
}

}  // namespace drl::inline DRL_ISA::physics

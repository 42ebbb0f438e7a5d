// The height of a height field below a point.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/physics/height_map.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

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

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl

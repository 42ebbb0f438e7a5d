// The heights of a height field. They are data in memory, not in the code of a robot that drl_robot compiled: all
// environments of a process share them, and others may take their place between two steps
// (drl/physics/shared_heights.hpp).
#pragma once

#include <cstdint>

#include "drl/canvas.hpp"

namespace drl {

struct HeightMap {
  static constexpr int kTile = 2;  // cells along each side of a tile

  const float* heights;  // [rows, columns], from 0 to 1; not owned; null: not set
  // The highest corner of each tile, [ceil((rows - 1) / kTile), ceil((columns - 1) / kTile)]. Not owned.
  const float* tiles;
  int rows, columns;
  double size[4];  // half sizes along x and y, height of the value 1, depth of the base (MuJoCo's hfield_size)
  float highest;   // of all heights

  constexpr int tile_columns() const { return (columns - 2) / kTile + 1; }
  constexpr int tile_rows() const { return (rows - 2) / kTile + 1; }
};

// The height fields of a compiled robot, by the key of its file's name (drl/physics/compiled_robot.hpp). Task
// libraries with files of one name share them. They are empty until shared_heights.hpp sets them.
template <uint64_t Key, int count>
inline HeightMap height_maps[count] = {};

// Returns the heights of a compiled robot's height field, for a video.
template <class P>
FieldHeights heights_of(int field) {
  const HeightMap& map = height_maps<P::kModelKey, P::kHeightFields>[field];
  return {
      P::height_field(field), map.rows, map.columns, {map.size[0], map.size[1], map.size[2], map.size[3]}, map.heights};
}

}  // namespace drl

// Sets the heights of a compiled robot's height fields, which all environments of a process share.
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "drl/canvas.hpp"
#include "drl/physics/height_map.hpp"
#include "drl/physics/terrain_picture.hpp"

namespace drl {

// Owns the memory of a HeightMap.
class SharedHeights {
 public:
  // Copies the heights [rows, columns], which are from 0 to 1; both numbers are at least 2. size: see HeightMap.
  SharedHeights(int rows, int columns, const double* size, const float* heights)
      : heights_(heights, heights + static_cast<size_t>(rows) * static_cast<size_t>(columns)) {
    map_ = {.heights = heights_.data(), .tiles = nullptr, .rows = rows, .columns = columns, .size = {}, .highest = 0};
    std::copy_n(size, 4, map_.size);
    map_.highest = *std::max_element(heights_.begin(), heights_.end());
    for (int row = 0; row < map_.tile_rows(); ++row)
      for (int column = 0; column < map_.tile_columns(); ++column) tiles_.push_back(highest_of_tile(row, column));
    map_.tiles = tiles_.data();
  }
  SharedHeights(const SharedHeights&) = delete;
  SharedHeights& operator=(const SharedHeights&) = delete;
  const HeightMap& map() const { return map_; }

 private:
  float highest_of_tile(int row, int column) const {
    constexpr int kTile = HeightMap::kTile;
    float highest = 0;
    for (int i = kTile * row; i <= std::min(kTile * (row + 1), map_.rows - 1); ++i)
      for (int k = kTile * column; k <= std::min(kTile * (column + 1), map_.columns - 1); ++k)
        highest = std::max(highest, heights_[static_cast<size_t>(i * map_.columns + k)]);
    return highest;
  }

  std::vector<float> heights_, tiles_;
  HeightMap map_;
};

// Makes these the heights of field `field` of a compiled robot. No step may run meanwhile. The memory of former heights
// is kept until the process ends, because other threads may still hold robots that began with them.
template <class P>
void set_heights(int field, int rows, int columns, const double* size, const float* heights) {
  static std::vector<std::unique_ptr<SharedHeights>> owners;
  owners.push_back(std::make_unique<SharedHeights>(rows, columns, size, heights));
  height_maps<P::kModelKey, P::kHeightFields>[field] = owners.back()->map();
}

// Sets all heights of a compiled robot to those in its model. Does nothing for robots without height fields.
template <class P>
void load_heights([[maybe_unused]] const mjModel& model) {
  if constexpr (P::kHeightFields > 0)
    for (int field = 0; field < P::kHeightFields; ++field) {
      const int h = P::height_field(field);
      set_heights<P>(field, model.hfield_nrow[h], model.hfield_ncol[h], model.hfield_size + 4 * h,
                     model.hfield_data + model.hfield_adr[h]);
    }
}

// Returns whether a compiled robot has height fields, and the first one is set.
template <class P>
bool has_heights() {
  if constexpr (P::kHeightFields > 0) return height_maps<P::kModelKey, P::kHeightFields>[0].heights != nullptr;
  return false;
}

// Lays rough ground into the first height field of a compiled robot, unless it is there already. Throws as
// read_terrain_picture and TerrainHeights do.
template <class P>
void set_terrain([[maybe_unused]] const TerrainOptions& options) {
  if constexpr (P::kHeightFields > 0) {
    const TerrainHeights ground(options, read_terrain_picture(options));
    const HeightMap& now = height_maps<P::kModelKey, P::kHeightFields>[0];
    const bool is_there = now.heights && now.rows == ground.rows && now.columns == ground.columns &&
                          std::equal(ground.size, ground.size + 4, now.size) &&
                          std::equal(ground.heights.begin(), ground.heights.end(), now.heights);
    if (!is_there) set_heights<P>(0, ground.rows, ground.columns, ground.size, ground.heights.data());
  }
}

// Returns the heights of a model's height field, for a video.
inline FieldHeights heights_of(const mjModel& model, int field) {
  FieldHeights heights{
      field, model.hfield_nrow[field], model.hfield_ncol[field], {}, model.hfield_data + model.hfield_adr[field]};
  std::copy_n(model.hfield_size + 4 * field, 4, heights.size);
  return heights;
}

}  // namespace drl

// Rough ground for tasks of robots: a grid of square patches. Patches become more difficult along x, the rows (levels),
// and each column along y is of one kind. drl lays the ground of a robot's task into the height field of its model if
// the task's Params have a member `drl::TerrainOptions terrain`, and all environments of a process share it:
//
//   struct Params {
//     drl::TerrainOptions terrain;
//     template <class V> void describe(V& v) { terrain.describe(v); }   // --env.terrain stairs, --env.terrain_rows 10
//   };
//
// The model must have exactly one height field, whose geom is at the world's origin:
//   <hfield name="terrain" nrow="41" ncol="41" size="2 2 1 0.1"/>, <geom type="hfield" hfield="terrain"/>
// Tasks read it with robot.ground_height(x, y). Its lowest point is at z = 0.
// The kinds and their sizes are those of mjlab 1.6.0 and Isaac Lab 2, as a height field has them: walls are as steep as
// one cell is wide.
#pragma once

#include <cstdint>
#include <string_view>

#include "drl/lanes/hd.hpp"
#include "drl/task/range.hpp"

namespace drl {

// The kinds of patches, named after what a robot walks on when it leaves the middle of the patch: in `slope_up` and
// `stairs_up`, the middle is a pit.
enum class TerrainKind {
  flat,
  random_rough,
  slope_up,
  slope_down,
  stairs_up,
  stairs_down,
  boxes,
  stepping_stones,
  gaps,
  waves,
  count
};
constexpr int kTerrainKinds = static_cast<int>(TerrainKind::count);

// The values of TerrainOptions::terrain.
constexpr const char* kTerrainNames[] = {"rough",           "flat", "random_rough", "slopes", "stairs", "boxes",
                                         "stepping_stones", "gaps", "waves",        "all"};
constexpr int kTerrains = sizeof(kTerrainNames) / sizeof(*kTerrainNames);
// The share of each kind in these, in the order of TerrainKind. "rough" is mjlab's ROUGH_TERRAINS_CFG.
constexpr double kTerrainShares[kTerrains][kTerrainKinds] = {
    {0.2, 0.1, 0.1, 0.1, 0.2, 0.2, 0, 0, 0, 0.1},
    {1},
    {0, 1},
    {0, 0, 0.5, 0.5},
    {0, 0, 0, 0, 0.5, 0.5},
    {0, 0, 0, 0, 0, 0, 1},
    {0, 0, 0, 0, 0, 0, 0, 1},
    {0, 0, 0, 0, 0, 0, 0, 0, 1},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
};

// Checks the orders of kTerrainNames, kTerrainShares and TerrainKind.
constexpr bool has_share(const char* name, TerrainKind kind, double share) {
  for (int t = 0; t < kTerrains; ++t)
    if (std::string_view(kTerrainNames[t]) == name) return kTerrainShares[t][static_cast<int>(kind)] == share;
  return false;
}
static_assert(has_share("flat", TerrainKind::flat, 1) && has_share("random_rough", TerrainKind::random_rough, 1) &&
              has_share("slopes", TerrainKind::slope_up, 0.5) && has_share("slopes", TerrainKind::slope_down, 0.5) &&
              has_share("stairs", TerrainKind::stairs_up, 0.5) && has_share("stairs", TerrainKind::stairs_down, 0.5) &&
              has_share("boxes", TerrainKind::boxes, 1) && has_share("gaps", TerrainKind::gaps, 1) &&
              has_share("stepping_stones", TerrainKind::stepping_stones, 1) &&
              has_share("waves", TerrainKind::waves, 1));

struct TerrainOptions {
  int32_t terrain = 0;  // index into kTerrainNames
  int32_t seed = 0, rows = 10, columns = 10;
  float size = 8, border = 5, resolution = 0.1f;  // m
  float stair = 0.1f, slope = 1;                  // of the last row
  int32_t level_min = 0, level_max = 5;           // rows in which environments begin
  bool curriculum = true;
  FileName file;          // a picture of the ground, in place of the kinds above (drl/physics/terrain_picture.hpp)
  float file_height = 1;  // m, between the lowest and the highest point of the picture

  // Saved robots would stand in a hill on another ground. The levels only decide where episodes begin.
  template <class V>
  void describe(V& v) {
    constexpr ParamCondition no_file = only_with("terrain_file", "none");
    v("terrain", terrain, "kind of the ground", named_values(kTerrainNames), no_file, changes_env_state);
    v("terrain_seed", seed, "seed of the ground's random heights", at_least(0), no_file,
      only_with("terrain", "rough|random_rough|boxes|stepping_stones|all"), changes_env_state);
    v("terrain_rows", rows, "rows (levels), from the easiest to the most difficult", between(1, 1000),
      changes_env_state);
    v("terrain_columns", columns, "columns, which the ground's kinds share", between(1, 1000), changes_env_state);
    v("terrain_size", size, "length of a side of a patch", between(2, 100), unit("m"), changes_env_state);
    v("terrain_border", border, "width of the flat ground around all patches", between(1, 100), unit("m"),
      changes_env_state);
    v("terrain_resolution", resolution, "length of a side of a cell of the height field", between(0.01, 1), unit("m"),
      changes_env_state);
    v("terrain_stair", stair, "height of a step of the stairs in the last row", between(0, 1), unit("m"), no_file,
      only_with("terrain", "rough|stairs|all"), changes_env_state);
    v("terrain_slope", slope, "gradient of the slopes in the last row", between(0, 2), no_file,
      only_with("terrain", "rough|slopes|all"), changes_env_state);
    v("terrain_level_min", level_min, "lowest level at which environments begin", at_least(0),
      below_option("terrain_rows"), at_most_option("terrain_level_max"));
    v("terrain_level_max", level_max, "highest level at which environments begin", at_least(0),
      below_option("terrain_rows"));
    v("terrain_curriculum", curriculum,
      "levels follow the distance that a robot walks (no: each episode has a random patch of these levels)",
      not_with("terrain_rows", "1"));
    v("terrain_file", file, "a picture of the ground (PNG; white is high) that is stretched over all patches");
    v("terrain_file_height", file_height, "height of the picture's highest point above its lowest", between(0, 100),
      unit("m"), not_with("terrain_file", "none"), changes_env_state);
  }

  // Return the coordinates of the middle of a patch in m. F holds numbers of rows and columns.
  template <class F>
  DRL_HD F middle_x(F row) const {
    return (row + F(0.5 - 0.5 * rows)) * F(size);
  }
  template <class F>
  DRL_HD F middle_y(F column) const {
    return (column + F(0.5 - 0.5 * columns)) * F(size);
  }
  // Return half the length of the ground along x and y, with the border.
  DRL_HD double half_x() const { return 0.5 * rows * static_cast<double>(size) + static_cast<double>(border); }
  DRL_HD double half_y() const { return 0.5 * columns * static_cast<double>(size) + static_cast<double>(border); }
  // Returns the kind of a column.
  constexpr TerrainKind kind(int column) const {
    double sum = 0;
    int kind = -1, last = 0;
    for (int k = 0; k < kTerrainKinds; ++k) {
      if (kTerrainShares[terrain][k] > 0) last = k;
      sum += kTerrainShares[terrain][k];
      if (kind < 0 && (column + 0.5) / columns < sum + 1e-9) kind = k;
    }
    return static_cast<TerrainKind>(kind < 0 ? last : kind);
  }
  // Returns the difficulty of a row, from 0 to 1.
  constexpr double difficulty(int row) const { return rows > 1 ? static_cast<double>(row) / (rows - 1) : 1; }
};

// True if a robot's task has rough ground.
template <class Params>
concept HasTerrain = requires(const Params& params) {
  params.terrain.difficulty(0);
};

}  // namespace drl

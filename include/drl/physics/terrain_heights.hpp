// The heights of rough ground (drl/terrain.hpp). They are a function of its options.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/lanes/philox.hpp"
#include "drl/terrain.hpp"

namespace drl {

// One square patch. Points (i, k) of its grid are from 0 to `cells` along x and y. Lengths are in m.
class TerrainPatch {
 public:
  TerrainPatch(const TerrainOptions& options, int row, int column)
      : options_(options),
        kind_(options.kind(column)),
        difficulty_(options.difficulty(row)),
        number_(static_cast<uint64_t>(row) << 16 | static_cast<uint64_t>(column)),
        size_(options.size),
        cells_(static_cast<int>(std::lround(size_ / options.resolution))),
        cell_(size_ / cells_) {}

  double height(int i, int k) const {
    // Distances from the patch's edge and from its middle along both axes, and from the middle, whose contours are
    // squares.
    const double edge = cell_ * std::min({i, cells_ - i, k, cells_ - k});
    const double x = cell_ * (i - 0.5 * cells_), y = cell_ * (k - 0.5 * cells_);
    const double out = std::max(std::abs(x), std::abs(y));
    switch (kind_) {
      case TerrainKind::random_rough:
        return edge < kRim ? 0 : 0.02 * difficulty_ * (1 + std::floor(5 * random(i, k)));
      case TerrainKind::slope_up:
        return -pyramid(x, y);
      case TerrainKind::slope_down:
        return pyramid(x, y);
      case TerrainKind::stairs_up:
        return -stairs(edge);
      case TerrainKind::stairs_down:
        return stairs(edge);
      case TerrainKind::boxes:
        return edge < kRim || out < kPlatform ? 0 : 0.2 * difficulty_ * (2 * random(part(x, 0.4), part(y, 0.4)) - 1);
      case TerrainKind::stepping_stones:
        return edge < kShore || out < kPlatform ? 0 : stone(x, y);
      case TerrainKind::gaps:
        return edge < kShore || !is_gap(out - kPlatform) ? 0 : -kDepth;
      case TerrainKind::waves:
        return edge < kRim ? 0 : wave(x, y);
      default:
        return 0;
    }
  }

 private:
  static constexpr double kRim = 0.25, kShore = 1, kPlatform = 1;  // flat strips at the edge; half of a platform
  static constexpr double kDepth = 1;                              // of gaps, and between stepping stones
  static constexpr double kTiny = 1e-9;                            // rounding

  // Returns a number in [0, 1) for each pair of whole numbers above -32768.
  double random(int i, int k) const {
    const auto place = static_cast<uint64_t>(i + 32768) << 16 | static_cast<uint64_t>(k + 32768);
    return static_cast<double>(
        uniform01(random_bits(static_cast<uint64_t>(options_.seed), Purpose::terrain, number_, place)[0]));
  }
  static int part(double x, double length) { return static_cast<int>(std::floor(x / length + kTiny)); }

  double pyramid(double x, double y) const {
    const double half = 0.5 * size_ - kRim;
    const auto rise = [&](double way) { return std::max(0.0, 1 - std::abs(way) / half); };
    return difficulty_ * options_.slope * half * std::min(rise(x) * rise(y), rise(kPlatform) * rise(kPlatform));
  }
  // The platform in the middle is 3 m long.
  double stairs(double edge) const {
    constexpr double kStep = 0.3, kMiddle = 3;
    if (edge < kShore - kTiny) return 0;
    const int most = std::max(0, part(size_ - 2 * kShore - kMiddle, 2 * kStep));
    return difficulty_ * options_.stair * (1 + std::min(most, part(edge - kShore, kStep)));
  }
  double stone(double x, double y) const {
    const double length = 0.8 - 0.4 * difficulty_, period = length + 0.1 + 0.3 * difficulty_;
    const auto beside = [&](double way) {
      return std::abs(way - period * std::round(way / period)) > 0.5 * length + kTiny;
    };
    if (beside(x) || beside(y)) return -kDepth;
    return 0.05 * difficulty_ *
           (2 * random(static_cast<int>(std::round(x / period)), static_cast<int>(std::round(y / period))) - 1);
  }
  bool is_gap(double way) const {
    constexpr double kLand = 0.8;
    const double period = kLand + 0.1 + 0.6 * difficulty_;
    return way > 0 && way - period * std::floor(way / period) > kLand - kTiny;
  }
  double wave(double x, double y) const {
    const double inner = size_ - 2 * kRim, turn = 2 * std::numbers::pi * 4 / inner;
    return 0.1 * difficulty_ * (std::cos(turn * (y + 0.5 * inner)) + std::sin(turn * (x + 0.5 * inner)));
  }

  const TerrainOptions& options_;
  TerrainKind kind_;
  double difficulty_;
  uint64_t number_;
  double size_;
  int cells_;
  double cell_;
};

// A picture of the ground. Its first row is at the lowest y.
struct TerrainPicture {
  int rows = 0, columns = 0;   // points along y and x; 0: there is none
  std::vector<float> heights;  // [rows, columns], from 0 to 1

  // Returns the height at a share of the lengths along x and y, from 0 to 1, between the points around it.
  double height(double x, double y) const {
    x *= columns - 1, y *= rows - 1;
    const int column = std::clamp(static_cast<int>(x), 0, std::max(columns - 2, 0)),
              row = std::clamp(static_cast<int>(y), 0, std::max(rows - 2, 0));
    const auto at = [&](int r, int c) {
      return static_cast<double>(heights[static_cast<size_t>(std::min(r, rows - 1)) * static_cast<size_t>(columns) +
                                         static_cast<size_t>(std::min(c, columns - 1))]);
    };
    x = std::clamp(x - column, 0.0, 1.0), y = std::clamp(y - row, 0.0, 1.0);
    return std::lerp(std::lerp(at(row, column), at(row, column + 1), x),
                     std::lerp(at(row + 1, column), at(row + 1, column + 1), x), y);
  }
};

// The ground as a height field of MuJoCo.
struct TerrainHeights {
  int rows, columns;           // points along y and x
  double size[4];              // hfield_size
  std::vector<float> heights;  // [rows, columns], from 0 to 1

  // A picture takes the place of the patches. Throws std::invalid_argument if there is no such ground.
  explicit TerrainHeights(const TerrainOptions& options, const TerrainPicture& picture = {}) {
    constexpr double kMostPoints = 4e6;
    const double cells = static_cast<double>(options.size) / static_cast<double>(options.resolution);
    const int per_patch = static_cast<int>(std::lround(cells));
    if (std::abs(cells - per_patch) > 1e-3)
      throw std::invalid_argument("--env.terrain_size " + text(options.size) +
                                  " is not a multiple of --env.terrain_resolution " + text(options.resolution) +
                                  " (a patch consists of whole cells): make it a multiple");
    const double cell = static_cast<double>(options.size) / per_patch;
    const int beside = static_cast<int>(std::lround(options.border / cell));
    if (options.level_min > options.level_max)
      throw std::invalid_argument("--env.terrain_level_min " + std::to_string(options.level_min) +
                                  " is above --env.terrain_level_max " + std::to_string(options.level_max) +
                                  " (environments begin between these): make it smaller");
    const double wide = double(options.rows) * per_patch + 2.0 * beside + 1,
                 high = double(options.columns) * per_patch + 2.0 * beside + 1;
    if (wide * high > kMostPoints)
      throw std::invalid_argument(
          "the ground would have " + text(wide * high / 1e6) +
          " million points (it may have 4): reduce "
          "--env.terrain_rows, --env.terrain_columns or --env.terrain_border, or increase --env.terrain_resolution");
    columns = static_cast<int>(wide), rows = static_cast<int>(high);
    std::vector<double> all(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    if (picture.rows > 0)
      spread(options, picture, per_patch, beside, all);
    else
      lay_patches(options, per_patch, beside, all);
    const auto [low, top] = std::ranges::minmax(all);
    const double range = std::max(top - low, 1e-3);
    size[0] = 0.5 * cell * (columns - 1), size[1] = 0.5 * cell * (rows - 1), size[2] = range, size[3] = 0.1;
    for (const double height : all) heights.push_back(static_cast<float>((height - low) / range));
  }

 private:
  // Write heights in m, [rows, columns], of which `beside` along each side are the border.
  void lay_patches(const TerrainOptions& options, int per_patch, int beside, std::vector<double>& all) const {
    for (int row = 0; row < options.rows; ++row)
      for (int column = 0; column < options.columns; ++column) {
        const TerrainPatch patch(options, row, column);
        for (int k = 0; k < per_patch; ++k)
          for (int i = 0; i < per_patch; ++i)
            all[static_cast<size_t>(beside + column * per_patch + k) * static_cast<size_t>(columns) +
                static_cast<size_t>(beside + row * per_patch + i)] = patch.height(i, k);
      }
  }
  void spread(const TerrainOptions& options, const TerrainPicture& picture, int per_patch, int beside,
              std::vector<double>& all) const {
    for (int k = 0; k < rows; ++k)
      for (int i = 0; i < columns; ++i)
        all[static_cast<size_t>(k) * static_cast<size_t>(columns) + static_cast<size_t>(i)] =
            static_cast<double>(options.file_height) *
            picture.height(double(i - beside) / (options.rows * per_patch),
                           double(k - beside) / (options.columns * per_patch));
  }
  static std::string text(double x) {
    std::string digits = std::to_string(x);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits;
  }
};

}  // namespace drl

// Reads pictures of the ground (TerrainOptions::file) by libmujoco: PNG, or MuJoCo's binary format of height fields. A
// PNG file may have 16 bits, which drl reads itself.
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/png_points.hpp"
#include "drl/physics/terrain_heights.hpp"

namespace drl {

// Replaces the heights by those of a PNG file with 16 bits, as MuJoCo scales them, if it is one.
inline void replace_by_16_bits(TerrainPicture& picture, const std::string& file, size_t most) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  const std::vector<uint16_t> points =
      png_points_of_16_bits({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, most);
  if (points.size() != picture.heights.size()) return;
  const auto [low, high] = std::ranges::minmax(points);
  const auto columns = static_cast<size_t>(picture.columns), rows = points.size() / columns;
  for (size_t k = 0; k < points.size(); ++k)  // MuJoCo's first row is the bottom of the picture
    picture.heights[(rows - 1 - k / columns) * columns + k % columns] =
        high > low ? static_cast<float>(points[k] - low) / static_cast<float>(high - low) : 0.0f;
}

// Returns the picture that these options name, or none. As for any height field of MuJoCo, the darkest point has height
// 0 and the brightest has 1, and the top of the picture is at the highest y. Throws std::invalid_argument if the file
// cannot be read. A file is read once in a process: the ground must not change when an evaluation makes environments.
inline TerrainPicture read_terrain_picture(const TerrainOptions& options) {
  constexpr int kMostPoints = 4000000;
  static std::mutex mutex;
  static std::map<std::string, TerrainPicture> pictures;
  const std::string file = options.file.path;
  if (file.empty()) return {};
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto known = pictures.find(file); known != pictures.end()) return known->second;
  const auto fail = [&](const std::string& why) {
    throw std::invalid_argument("--env.terrain_file " + file + " cannot be read (" + why +
                                "): give a PNG picture, whose white points are the highest");
  };
  const std::unique_ptr<mjSpec, DeleteSpec> spec(mj_makeSpec());
  mjsHField* field = mjs_addHField(spec.get());
  mjs_setName(field->element, "picture");
  std::fill_n(field->size, 4, 1.0);
  mjs_setString(field->file, file.c_str());
  const std::unique_ptr<mjModel, decltype(&mj_deleteModel)> model(mj_compile(spec.get(), nullptr), mj_deleteModel);
  if (!model) {
    std::string why = mjs_getError(spec.get());
    std::ranges::replace(why, '\n', ' ');
    if (why.starts_with("Error: ")) why.erase(0, std::string_view("Error: ").size());
    fail("MuJoCo: " + why);
  }
  TerrainPicture picture{model->hfield_nrow[0], model->hfield_ncol[0], {}};
  if (model->nhfielddata > kMostPoints)
    fail("it has " + std::to_string(picture.columns) + " x " + std::to_string(picture.rows) +
         " points, and the ground may have 4 million");
  picture.heights.assign(model->hfield_data, model->hfield_data + model->nhfielddata);
  try {
    replace_by_16_bits(picture, file, kMostPoints);
  } catch (const std::invalid_argument& error) {
    fail(error.what());
  }
  if (!std::ranges::all_of(picture.heights, [](float height) { return std::isfinite(height); }))
    fail("it has heights that are not finite");
  return pictures[file] = picture;
}

}  // namespace drl

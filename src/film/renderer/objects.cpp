#include "film/renderer/objects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace drl::film {
namespace {

// Returns the kind with which the type is drawn, or nothing: labels, skins and flexes are not shown.
std::optional<ObjectKind> kind_of(int type) {
  using enum ObjectKind;
  switch (type) {
    case mjGEOM_SPHERE:
      return sphere;
    case mjGEOM_CAPSULE:
      return capsule;
    case mjGEOM_ELLIPSOID:
      return ellipsoid;
    case mjGEOM_CYLINDER:
      return cylinder;
    case mjGEOM_BOX:
      return box;
    case mjGEOM_PLANE:
      return plane;
    case mjGEOM_MESH:
    case mjGEOM_SDF:
    case mjGEOM_HFIELD:
      return mesh;
    case mjGEOM_LINE:
      return line;
    case mjGEOM_ARROW:
    case mjGEOM_ARROW1:
    case mjGEOM_ARROW2:
      return arrow;
    default:
      return std::nullopt;
  }
}

uint8_t as_byte(float x) { return static_cast<uint8_t>(std::clamp(x, 0.0f, 1.0f) * 255 + 0.5f); }

// Returns a texture's mean colour in the square [x, x + 1/2) x [y, y + 1/2) of its picture.
std::array<float, 3> mean_color(const mjModel& model, int texture, double x, double y, double share) {
  std::array<double, 3> sum{};
  const int width = model.tex_width[texture], height = model.tex_height[texture];
  const int channels = model.tex_nchannel[texture], step = std::max(1, width / 64);
  int count = 0;
  for (int row = static_cast<int>(y * height); row < (y + share) * height; row += step)
    for (int column = static_cast<int>(x * width); column < (x + share) * width; column += step, ++count)
      for (int k = 0; k < 3; ++k)
        sum[static_cast<size_t>(k)] +=
            model.tex_data[model.tex_adr[texture] + (row * width + column) * channels + std::min(k, channels - 1)];
  std::array<float, 3> mean{};
  for (size_t k = 0; k < 3; ++k) mean[k] = static_cast<float>(sum[k] / (255.0 * std::max(count, 1)));
  return mean;
}

}  // namespace

ScenePicture Objects::place(const FilmView& view, bool shows_contacts) {
  constexpr int kWidth = 640, kHeight = 480;  // of the picture that the camera is for
  if (!scene_.is_loaded()) {
    scene_.load(view, kWidth, kHeight);
    scene_.model().vis.scale.contactwidth = 0.12f, scene_.model().vis.scale.contactheight = 0.06f;
  }
  scene_.place(view);
  if (shows_contacts) mj_fwdPosition(&scene_.model(), &scene_.data());
  scene_.options().flags[mjVIS_CONTACTPOINT] = shows_contacts ? 1 : 0;
  mjvCamera camera;
  if (!view.model) {
    camera = scene_.look(view, "track", static_cast<double>(kWidth) / kHeight);
  } else {
    if (!camera_) camera_.emplace(scene_.model(), scene_.data());
    camera = camera_->follow(scene_.data());
  }
  scene_.update(view, camera);
  objects_.clear();
  for (int k = 0; k < scene_.geoms().ngeom; ++k) add(scene_.geoms().geoms[k]);
  ScenePicture picture{.objects = objects_.data(),
                       .count = std::ssize(objects_),
                       .at = {},
                       .distance = static_cast<float>(camera.distance),
                       .azimuth = static_cast<float>(camera.azimuth),
                       .elevation = static_cast<float>(camera.elevation),
                       .follows = camera_ && camera_->follows() ? 1 : 0,
                       .positions = static_cast<int32_t>(scene_.model().nq),
                       .velocities = static_cast<int32_t>(scene_.model().nv)};
  std::copy_n(camera.lookat, 3, picture.at);
  return picture;
}

void Objects::add(const mjvGeom& geom) {
  const std::optional<ObjectKind> kind = kind_of(geom.type);
  if (!kind) return;
  const mjModel& model = scene_.model();
  SceneObject& object = objects_.emplace_back();
  object = {.kind = *kind, .is_fixed = 0, .mesh = 0, .rgba = {}, .second = {}, .size = {}, .pos = {}, .quat = {}};
  object.is_fixed =
      geom.objtype == mjOBJ_GEOM ? model.body_weldid[model.geom_bodyid[geom.objid]] == 0 : *kind == ObjectKind::plane;
  if (*kind == ObjectKind::mesh)
    object.mesh = static_cast<uint16_t>(geom.type == mjGEOM_HFIELD ? model.nmesh + geom.dataid : geom.dataid / 2);
  std::copy_n(geom.size, 3, object.size);
  if (*kind == ObjectKind::mesh) std::fill_n(object.size, 3, 1.0f);
  std::copy_n(geom.pos, 3, object.pos);
  double matrix[9], quat[4];
  std::copy_n(geom.mat, 9, matrix);
  mju_mat2Quat(quat, matrix);
  std::copy_n(quat, 4, object.quat);
  color(geom, object);
}

// Objects with a texture have its mean colour. Planes have the colours of a checker texture's squares.
void Objects::color(const mjvGeom& geom, SceneObject& object) {
  const mjModel& model = scene_.model();
  const auto set = [&](uint8_t* to, const std::array<float, 3>& of_texture) {
    for (size_t k = 0; k < 3; ++k) to[k] = as_byte(geom.rgba[k] * of_texture[k]);
  };
  object.rgba[3] = as_byte(geom.rgba[3]);
  set(object.rgba, {1, 1, 1}), set(object.second, {1, 1, 1});
  const int texture = geom.matid < 0 ? -1 : model.mat_texid[geom.matid * mjNTEXROLE + mjTEXROLE_RGB];
  if (texture < 0) return;
  if (object.kind != ObjectKind::plane) return set(object.rgba, mean_color(model, texture, 0, 0, 1));
  set(object.rgba, mean_color(model, texture, 0, 0, 0.5)), set(object.second, mean_color(model, texture, 0.5, 0, 0.5));
  const float repetitions = model.mat_texrepeat[2 * geom.matid];  // per metre, of two squares each
  object.second[3] = static_cast<uint8_t>(std::clamp(50 / std::max(repetitions, 0.1f), 1.0f, 255.0f));
}

SceneMesh Objects::mesh(int id) {
  points_.clear(), corners_.clear();
  const auto meshes = scene_.is_loaded() ? static_cast<int>(scene_.model().nmesh) : 0;
  const auto fields = scene_.is_loaded() ? static_cast<int>(scene_.model().nhfield) : 0;
  if (id < 0 || id >= meshes + fields) throw std::invalid_argument("the model has no mesh " + std::to_string(id));
  id < meshes ? take_mesh(id) : take_heights(id - meshes);
  return {points_.data(), std::ssize(points_) / 6, corners_.data(), std::ssize(corners_)};
}

void Objects::take_mesh(int mesh) {
  const mjModel& model = scene_.model();
  std::map<std::pair<int, int>, uint32_t> known;  // (vertex, normal): its row in points_
  for (int face = model.mesh_faceadr[mesh]; face < model.mesh_faceadr[mesh] + model.mesh_facenum[mesh]; ++face)
    for (int k = 3 * face; k < 3 * face + 3; ++k) {
      const std::pair corner(model.mesh_face[k], model.mesh_facenormal[k]);
      const auto [place, is_new] = known.emplace(corner, static_cast<uint32_t>(known.size()));
      corners_.push_back(place->second);
      if (!is_new) continue;
      const float* point = model.mesh_vert + 3 * (model.mesh_vertadr[mesh] + corner.first);
      const float* normal = model.mesh_normal + 3 * (model.mesh_normaladr[mesh] + corner.second);
      points_.insert(points_.end(), point, point + 3), points_.insert(points_.end(), normal, normal + 3);
    }
}

void Objects::take_heights(int field) {
  const mjModel& model = scene_.model();
  const int rows = model.hfield_nrow[field], columns = model.hfield_ncol[field];
  const mjtNum* size = model.hfield_size + 4 * field;
  const float* heights = model.hfield_data + model.hfield_adr[field];
  const auto height = [&](int row, int column) {
    return static_cast<float>(size[2]) *
           heights[std::clamp(row, 0, rows - 1) * columns + std::clamp(column, 0, columns - 1)];
  };
  const float dx = static_cast<float>(2 * size[0] / (columns - 1)), dy = static_cast<float>(2 * size[1] / (rows - 1));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      float normal[3] = {(height(row, column - 1) - height(row, column + 1)) / (2 * dx),
                         (height(row - 1, column) - height(row + 1, column)) / (2 * dy), 1};
      const float length = std::hypot(normal[0], normal[1], 1.0f);
      points_.insert(points_.end(), {static_cast<float>(column) * dx - static_cast<float>(size[0]),
                                     static_cast<float>(row) * dy - static_cast<float>(size[1]), height(row, column)});
      for (const float x : normal) points_.push_back(x / length);
      if (row == 0 || column == 0) continue;
      const auto here = static_cast<uint32_t>(row * columns + column), below = here - static_cast<uint32_t>(columns);
      corners_.insert(corners_.end(), {below - 1, below, here, below - 1, here, here - 1});
    }
}

void Objects::push(const float* velocity, double* qvel) {
  const mjModel& model = scene_.model();
  if (model.nbody <= kRoot) return;
  for (int j = model.body_jntadr[kRoot], end = j + model.body_jntnum[kRoot]; j >= 0 && j < end; ++j) {
    double* change = qvel + model.jnt_dofadr[j];
    const mjtNum* axis = scene_.data().xaxis + 3 * j;
    if (model.jnt_type[j] == mjJNT_FREE)
      for (int k = 0; k < 3; ++k) change[k] += static_cast<double>(velocity[k]);
    if (model.jnt_type[j] == mjJNT_SLIDE)
      for (int k = 0; k < 3; ++k) *change += axis[k] * static_cast<double>(velocity[k]);
  }
}

}  // namespace drl::film

#include "film/renderer/scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "base/enum_table.hpp"
#include "film/renderer/camera.hpp"

namespace drl::film {
namespace {

constexpr int kMaxShapes = 4000;

// The RGB values of Canvas::Color.
constexpr auto kColors =
    by_enum<Canvas::Color, std::array<float, 3>>(Canvas::brown, {{Canvas::black, {0.13f, 0.14f, 0.16f}},
                                                                 {Canvas::grey, {0.42f, 0.45f, 0.50f}},
                                                                 {Canvas::light_grey, {0.78f, 0.80f, 0.83f}},
                                                                 {Canvas::white, {0.96f, 0.96f, 0.97f}},
                                                                 {Canvas::blue, {0.20f, 0.45f, 0.70f}},
                                                                 {Canvas::orange, {0.93f, 0.55f, 0.16f}},
                                                                 {Canvas::green, {0.25f, 0.62f, 0.42f}},
                                                                 {Canvas::red, {0.82f, 0.24f, 0.26f}},
                                                                 {Canvas::purple, {0.50f, 0.38f, 0.70f}},
                                                                 {Canvas::brown, {0.55f, 0.42f, 0.32f}}});

int geom_type(ShapeKind kind) {
  using enum ShapeKind;
  constexpr auto kTypes = by_enum<ShapeKind, int>(ground, {{capsule, mjGEOM_CAPSULE},
                                                           {line, mjGEOM_LINE},
                                                           {arrow, mjGEOM_ARROW},
                                                           {box, mjGEOM_BOX},
                                                           {sphere, mjGEOM_SPHERE},
                                                           {ground, mjGEOM_PLANE}});
  if (const auto place = static_cast<size_t>(kind); place < std::size(kTypes)) return kTypes[place];
  throw std::invalid_argument("a task draws an unknown shape (its library was built for another drl): rebuild it");
}

}  // namespace

Scene::Scene() {
  require_mujoco_version();
  install_mujoco_handlers();
  mjv_defaultOption(&options_);
  mjv_defaultScene(&scene_);
}

Scene::~Scene() { mjv_freeScene(&scene_); }

void Scene::load(const FilmView& view, int width, int height) {
  model_ = load_stage(view.model, {view.heights, static_cast<size_t>(view.heights_size)}, width, height);
  constexpr double kNear = 5;  // m; OpenGL cuts off what is nearer than a hundredth of the extent
  if (view.heights_size > 0) model_->stat.extent = std::min(model_->stat.extent, kNear);
  data_.reset(mj_makeData(model_.get()));
  if (!data_) throw std::runtime_error("no memory for the model's data");
  mjv_makeScene(model_.get(), &scene_, model_->ngeom + model_->nsite + model_->ntendon * 32 + kMaxShapes);
  scene_.flags[mjRND_SHADOW] = scene_.flags[mjRND_REFLECTION] = 0;
}

void Scene::place(const FilmView& view) {
  if (view.qpos_size != model_->nq)
    throw std::invalid_argument("the model has " + std::to_string(model_->nq) + " positions, but the task passes " +
                                std::to_string(view.qpos_size) + ": pass the file that it simulates to model()");
  std::copy_n(view.qpos, view.qpos_size, data_->qpos);
  mj_kinematics(model_.get(), data_.get());
  mj_comPos(model_.get(), data_.get());
  mj_camlight(model_.get(), data_.get());
  mj_flex(model_.get(), data_.get());
  mj_tendon(model_.get(), data_.get());
}

void Scene::update(const FilmView& view, mjvCamera& camera) {
  mjv_updateScene(model_.get(), data_.get(), &options_, nullptr, &camera, mjCAT_ALL, &scene_);
  for (int64_t k = 0; k < view.shape_count; ++k) add(view.shapes[k]);
}

mjvCamera Scene::look(const FilmView& view, const std::string& camera, double aspect) {
  const float width = view.width > 0 ? view.width : 10;
  model_->stat.extent = width;  // sets the near and far planes
  return task_camera(camera, view.at, width, aspect, static_cast<double>(model_->vis.global.fovy));
}

mjvGeom* Scene::next_geom() {
  if (scene_.ngeom >= scene_.maxgeom)
    throw std::invalid_argument("a picture has at most " + std::to_string(kMaxShapes) +
                                " shapes: draw fewer in the task's draw()");
  return &scene_.geoms[scene_.ngeom++];
}

void Scene::add(const Shape& shape) {
  mjvGeom* geom = next_geom();
  const int type = geom_type(shape.kind);
  const std::array<float, 3>& color = kColors[static_cast<size_t>(std::clamp(shape.color, 0, Canvas::kColors - 1))];
  const float rgba[4] = {color[0], color[1], color[2], 1};
  const double from[3] = {shape.from.x, shape.from.y, shape.from.z};
  const double to[3] = {shape.to.x, shape.to.y, shape.to.z};
  double size[3] = {shape.half.x, shape.half.y, shape.half.z};
  if (shape.kind == ShapeKind::sphere) size[1] = size[2] = size[0];
  if (shape.kind == ShapeKind::ground) size[0] = size[1] = 200;
  const double c = std::cos(shape.angle), s = std::sin(shape.angle);
  const double turn[9] = {c, 0, s, 0, 1, 0, -s, 0, c};  // about y: z goes towards x
  mjv_initGeom(geom, type, size, from, turn, rgba);
  if (type == mjGEOM_CAPSULE || type == mjGEOM_LINE || type == mjGEOM_ARROW)
    mjv_connector(geom, type, size[0], from, to);
  geom->category = mjCAT_DECOR;
  geom->specular = 0.2f, geom->shininess = 0.3f;
  if (shape.kind == ShapeKind::ground) {
    geom->matid = ground_material(*model_), geom->specular = 0;
    std::fill_n(geom->rgba, 3, 1.0f);
  }
}

}  // namespace drl::film

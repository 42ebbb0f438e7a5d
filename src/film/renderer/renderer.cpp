#include "film/renderer/renderer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

#include "base/enum_table.hpp"

namespace drl::film {
namespace {

constexpr int kMaxShapes = 4000;
constexpr int kLeastHeightWithTexts = 200;  // pixels; in smaller pictures the smallest font would hide too much

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

int font_scale(int height) { return std::clamp((height + 120) / 240 * 50, +mjFONTSCALE_50, +mjFONTSCALE_300); }

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

Renderer::Renderer(const FilmSettings& settings)
    : width_(settings.width), height_(settings.height), camera_name_(settings.camera) {
  require_mujoco_version();
  install_mujoco_handlers();
  // By default, Mesa uses all cores, and caches shaders in the user's home. setenv keeps values set by the user.
  setenv("LP_NUM_THREADS", std::to_string(settings.threads).c_str(), 0);
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
  gl_ = GlContext::make(width_, height_);
}

Renderer::~Renderer() {
  if (!loaded_ || !gl_->make_current()) return;
  mjr_freeContext(&context_);
  mjv_freeScene(&scene_);
}

void Renderer::draw(const FilmView& view, uint8_t* rgb) {
  if (!gl_->make_current()) throw std::invalid_argument("the OpenGL context was lost: record the video again");
  if (!loaded_) load(view);
  place(view);
  mjv_updateScene(model_.get(), data_.get(), &options_, nullptr, &camera(view), mjCAT_ALL, &scene_);
  for (int64_t k = 0; k < view.shape_count; ++k) add(view.shapes[k]);
  mjr_render({0, 0, width_, height_}, &scene_, &context_);
  write_texts(view);
  read(rgb);
}

void Renderer::load(const FilmView& view) {
  shows_model_ = view.model != nullptr;
  model_ = load_stage(view.model, {view.heights, static_cast<size_t>(view.heights_size)}, width_, height_);
  constexpr double kNear = 5;  // m; OpenGL cuts off what is nearer than a hundredth of the extent
  if (view.heights_size > 0) model_->stat.extent = std::min(model_->stat.extent, kNear);
  data_.reset(mj_makeData(model_.get()));
  if (!data_) throw std::runtime_error("no memory for the model's data");
  mjv_defaultOption(&options_);
  mjv_defaultScene(&scene_);
  mjr_defaultContext(&context_);
  mjv_makeScene(model_.get(), &scene_, model_->ngeom + model_->nsite + model_->ntendon * 32 + kMaxShapes);
  scene_.flags[mjRND_SHADOW] = scene_.flags[mjRND_REFLECTION] = 0;
  mjr_makeContext(model_.get(), &context_, font_scale(height_));
  loaded_ = true;
  mjr_setBuffer(mjFB_OFFSCREEN, &context_);
  if (context_.currentBuffer != mjFB_OFFSCREEN)
    throw std::invalid_argument("this OpenGL cannot draw offscreen (it has no framebuffers): install Mesa's EGL");
}

void Renderer::place(const FilmView& view) {
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

mjvCamera& Renderer::camera(const FilmView& view) {
  if (shows_model_) {
    if (!model_camera_) model_camera_.emplace(camera_name_, *model_, *data_);
    return model_camera_->follow(*data_);
  }
  const float width = view.width > 0 ? view.width : 10;
  task_camera_ = task_camera(camera_name_, view.at, width, static_cast<double>(width_) / height_,
                             static_cast<double>(model_->vis.global.fovy));
  model_->stat.extent = width;  // sets the near and far planes
  return task_camera_;
}

mjvGeom* Renderer::next_geom() {
  if (scene_.ngeom >= scene_.maxgeom)
    throw std::invalid_argument("a picture has at most " + std::to_string(kMaxShapes) +
                                " shapes: draw fewer in the task's draw()");
  return &scene_.geoms[scene_.ngeom++];
}

void Renderer::add(const Shape& shape) {
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

void Renderer::write_texts(const FilmView& view) {
  if (height_ < kLeastHeightWithTexts) return;
  const mjrRect all{0, 0, width_, height_};
  if (*view.title) mjr_overlay(mjFONT_NORMAL, mjGRID_TOPLEFT, all, view.title, nullptr, &context_);
  if (*view.names) mjr_overlay(mjFONT_NORMAL, mjGRID_BOTTOMLEFT, all, view.names, view.values, &context_);
}

// Reads the pixels, and flips the rows, since OpenGL's first row is the lowest.
void Renderer::read(uint8_t* rgb) {
  mjr_readPixels(rgb, nullptr, {0, 0, width_, height_}, &context_);
  const size_t row = static_cast<size_t>(width_) * 3;
  for (int y = 0; y < height_ / 2; ++y)
    std::swap_ranges(rgb + y * row, rgb + (y + 1) * row, rgb + (height_ - 1 - y) * row);
}

}  // namespace drl::film

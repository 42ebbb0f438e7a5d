#include "film/renderer/renderer.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace drl::film {
namespace {

constexpr int kLeastHeightWithTexts = 200;  // pixels; in smaller pictures the smallest font would hide too much

int font_scale(int height) { return std::clamp((height + 120) / 240 * 50, +mjFONTSCALE_50, +mjFONTSCALE_300); }

}  // namespace

Renderer::Renderer(const FilmSettings& settings)
    : width_(settings.width), height_(settings.height), camera_name_(settings.camera) {
  // By default, Mesa uses all cores, and caches shaders in the user's home. setenv keeps values set by the user.
  setenv("LP_NUM_THREADS", std::to_string(settings.threads).c_str(), 0);
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
  mjr_defaultContext(&context_);
  gl_ = GlContext::make(width_, height_);
}

Renderer::~Renderer() {
  if (scene_.is_loaded() && gl_->make_current()) mjr_freeContext(&context_);
}

void Renderer::draw(const FilmView& view, uint8_t* rgb) {
  if (!gl_->make_current()) throw std::invalid_argument("the OpenGL context was lost: record the video again");
  if (!scene_.is_loaded()) load(view);
  scene_.place(view);
  scene_.update(view, camera(view));
  mjr_render({0, 0, width_, height_}, &scene_.geoms(), &context_);
  write_texts(view);
  read(rgb);
}

void Renderer::load(const FilmView& view) {
  scene_.load(view, width_, height_);
  mjr_makeContext(&scene_.model(), &context_, font_scale(height_));
  mjr_setBuffer(mjFB_OFFSCREEN, &context_);
  if (context_.currentBuffer != mjFB_OFFSCREEN)
    throw std::invalid_argument("this OpenGL cannot draw offscreen (it has no framebuffers): install Mesa's EGL");
}

mjvCamera& Renderer::camera(const FilmView& view) {
  if (view.model) {
    if (!model_camera_) model_camera_.emplace(camera_name_, scene_.model(), scene_.data());
    return model_camera_->follow(scene_.data());
  }
  task_camera_ = scene_.look(view, camera_name_, static_cast<double>(width_) / height_);
  return task_camera_;
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

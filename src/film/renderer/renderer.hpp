// Renders pictures with MuJoCo.
#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "film/film_plugin.hpp"
#include "film/renderer/camera.hpp"
#include "film/renderer/gl_context.hpp"
#include "film/renderer/scene.hpp"

namespace drl::film {

// Use it only in the thread that made it.
class Renderer {
 public:
  // Throws std::invalid_argument if there is no OpenGL.
  explicit Renderer(const FilmSettings& settings);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // Renders to rgb [height, width, 3], top row first. Throws std::invalid_argument if the model or the camera is
  // invalid.
  void draw(const FilmView& view, uint8_t* rgb);

 private:
  void load(const FilmView& view);
  mjvCamera& camera(const FilmView& view);
  void write_texts(const FilmView& view);
  void read(uint8_t* rgb);

  int width_, height_;
  std::string camera_name_;
  std::unique_ptr<GlContext> gl_;
  Scene scene_;
  mjrContext context_;
  std::optional<ModelCamera> model_camera_;
  mjvCamera task_camera_;
};

}  // namespace drl::film

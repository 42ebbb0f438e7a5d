// Wraps the functions of drl_film.so: errors become exceptions, and resources are closed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "film/film_plugin.hpp"

namespace drl {

// Returns the path of lib/drl/drl_film.so in this installation.
std::filesystem::path film_library_file();

// The loaded library. Its functions throw UsageError for problems that the user can correct, else Error.
class FilmLibrary {
 public:
  // Loads the library, which stays loaded. Throws UsageError with instructions if it is missing or was built for
  // another version of drl.
  explicit FilmLibrary(const std::filesystem::path& file);
  const FilmPlugin& functions() const { return *functions_; }
  // Throws if a function's outcome is an error.
  static void require(int32_t outcome, const char* error, const std::string& what);

 private:
  const FilmPlugin* functions_;
};

// Renders pictures. Use it only in the thread that created it.
class FilmRenderer {
 public:
  // `library` must outlive the renderer.
  FilmRenderer(const FilmLibrary& library, const FilmSettings& settings);
  // Renders to rgb [height, width, 3], top row first.
  void draw(const FilmView& view, std::vector<uint8_t>& rgb);

 private:
  const FilmPlugin& functions_;
  size_t bytes_;
  std::unique_ptr<void, void (*)(void*)> renderer_;
};

// Returns what pictures show, for programs that draw it themselves. Results are valid until the next call.
class FilmScene {
 public:
  // `library` must outlive the scene.
  explicit FilmScene(const FilmLibrary& library);
  // Returns the objects of the picture, and with `shows_contacts` the points where they touch.
  ScenePicture place(const FilmView& view, bool shows_contacts);
  // Throws UsageError if the model has no such mesh.
  SceneMesh mesh(int32_t mesh);
  // Adds to qvel [ScenePicture::velocities] what changes the velocity of the robot's root by `velocity` (x, y, z, m/s).
  void push(const float* velocity, double* qvel) { functions_.push(scene_.get(), velocity, qvel); }

 private:
  const FilmPlugin& functions_;
  std::unique_ptr<void, void (*)(void*)> scene_;
};

}  // namespace drl

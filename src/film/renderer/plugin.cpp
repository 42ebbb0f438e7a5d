// The functions that drl_film.so exports.

#include "drl/task/border.hpp"
#include "film/film_plugin.hpp"
#include "film/renderer/objects.hpp"
#include "film/renderer/pictures.hpp"
#include "film/renderer/renderer.hpp"

namespace drl::film {
namespace {

constexpr FilmPlugin kPlugin = {
    kFilmMagic,
    kFilmAbi,
    {sizeof(FilmPlugin), sizeof(FilmSettings), sizeof(FilmView)},
    [](const FilmSettings* settings, void** renderer, char* error, int64_t size) {
      return with_error_code(error, size, [&] { *renderer = new Renderer(*settings); });
    },
    [](void* renderer, const FilmView* view, uint8_t* rgb, char* error, int64_t size) {
      return with_error_code(error, size, [&] { static_cast<Renderer*>(renderer)->draw(*view, rgb); });
    },
    [](void* renderer) { delete static_cast<Renderer*>(renderer); },
    [](const char* file, int32_t width, int32_t height, const uint8_t* rgb, char* error, int64_t size) {
      return with_error_code(error, size, [&] { write_png(file, width, height, rgb); });
    },
    [](const char* file, int32_t width, int32_t height, void** gif, char* error, int64_t size) {
      return with_error_code(error, size, [&] { *gif = new Gif(file, width, height); });
    },
    [](void* gif, const uint8_t* rgb, int32_t hundredths, char* error, int64_t size) {
      return with_error_code(error, size, [&] { static_cast<Gif*>(gif)->add(rgb, hundredths); });
    },
    [](void* gif, char* error, int64_t size) {
      const std::unique_ptr<Gif> owned(static_cast<Gif*>(gif));
      return with_error_code(error, size, [&] { owned->close(); });
    },
    [](void** scene, char* error, int64_t size) {
      return with_error_code(error, size, [&] { *scene = new Objects(); });
    },
    [](void* scene, const FilmView* view, int32_t shows_contacts, ScenePicture* picture, char* error, int64_t size) {
      return with_error_code(error, size,
                             [&] { *picture = static_cast<Objects*>(scene)->place(*view, shows_contacts != 0); });
    },
    [](void* scene, int32_t mesh, SceneMesh* triangles, char* error, int64_t size) {
      return with_error_code(error, size, [&] { *triangles = static_cast<Objects*>(scene)->mesh(mesh); });
    },
    [](void* scene, const float* velocity, double* qvel) { static_cast<Objects*>(scene)->push(velocity, qvel); },
    [](void* scene) { delete static_cast<Objects*>(scene); }};

}  // namespace
}  // namespace drl::film

extern "C" __attribute__((visibility("default"))) const drl::FilmPlugin* drl_film_plugin() {
  return &drl::film::kPlugin;
}

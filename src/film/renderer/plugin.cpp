// What drl_film.so gives to the programs.
#include <cstdio>
#include <exception>
#include <utility>

#include "film/film_plugin.hpp"
#include "film/renderer/pictures.hpp"
#include "film/renderer/renderer.hpp"
#include "film/renderer/user_error.hpp"

namespace drl::film {
namespace {

// Calls work(): no exception crosses the border.
template <class Work>
int32_t outcome_of(char* error, int64_t error_size, const Work& work) {
  const auto tell = [&](const char* text) { std::snprintf(error, static_cast<size_t>(error_size), "%s", text); };
  try {
    work();
    return kFilmed;
  } catch (const UserError& thrown) {
    tell(thrown.what());
    return kUserError;
  } catch (const std::exception& thrown) {
    tell(thrown.what());
  } catch (...) {
    tell("an exception that is no std::exception");
  }
  return kOwnError;
}

constexpr FilmPlugin kPlugin = {
    kFilmMagic,
    kFilmAbi,
    {sizeof(FilmPlugin), sizeof(FilmSettings), sizeof(FilmView)},
    [](const FilmSettings* settings, void** renderer, char* error, int64_t size) {
      return outcome_of(error, size, [&] { *renderer = new Renderer(*settings); });
    },
    [](void* renderer, const FilmView* view, uint8_t* rgb, char* error, int64_t size) {
      return outcome_of(error, size, [&] { static_cast<Renderer*>(renderer)->draw(*view, rgb); });
    },
    [](void* renderer) { delete static_cast<Renderer*>(renderer); },
    [](const char* file, int32_t width, int32_t height, const uint8_t* rgb, char* error, int64_t size) {
      return outcome_of(error, size, [&] { write_png(file, width, height, rgb); });
    },
    [](const char* file, int32_t width, int32_t height, void** gif, char* error, int64_t size) {
      return outcome_of(error, size, [&] { *gif = new Gif(file, width, height); });
    },
    [](void* gif, const uint8_t* rgb, int32_t hundredths, char* error, int64_t size) {
      return outcome_of(error, size, [&] { static_cast<Gif*>(gif)->add(rgb, hundredths); });
    },
    [](void* gif, char* error, int64_t size) {
      const std::unique_ptr<Gif> owned(static_cast<Gif*>(gif));
      return outcome_of(error, size, [&] { owned->close(); });
    }};

}  // namespace
}  // namespace drl::film

extern "C" __attribute__((visibility("default"))) const drl::FilmPlugin* drl_film_plugin() {
  return &drl::film::kPlugin;
}

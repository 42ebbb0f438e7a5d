// The border between the programs and drl_film.so, which alone is linked with MuJoCo and with libraries for pictures:
// plain structs. Functions give what at_the_border (drl/border.hpp) does.
#pragma once

#include <cstdint>

#include "drl/canvas.hpp"

namespace drl {

inline constexpr uint64_t kFilmMagic = 0x4c5254'4d4c4946ull;
inline constexpr int32_t kFilmAbi = 1;
enum FilmOutcome : int32_t { kFilmed = 0, kOwnError = 1, kUserError = 2 };

struct FilmSettings {
  int32_t width, height;  // pixels
  int32_t threads;        // that may compute
  const char* camera;     // "track", "free", or that of a model's camera
};

// What one picture shows.
struct FilmView {
  Point at;
  float width;  // m; 0: the task does not say
  const Shape* shapes;
  int64_t shape_count;
  const char* model;   // a file; null: none
  const double* qpos;  // [qpos_size]
  int64_t qpos_size;
  const char* title;   // in the upper left corner
  const char* names;   // in the lower left corner: lines with \n between
  const char* values;  // beside them
};

struct FilmPlugin {
  uint64_t magic;
  int32_t abi;
  int32_t sizes[3];  // of this, FilmSettings, FilmView
  // A renderer is used by the thread that opens it. Pixels are rgb [height, width, 3], the highest row first.
  int32_t (*open)(const FilmSettings* settings, void** renderer, char* error, int64_t error_size);
  int32_t (*draw)(void* renderer, const FilmView* view, uint8_t* rgb, char* error, int64_t error_size);
  void (*close)(void* renderer);
  int32_t (*write_png)(const char* file, int32_t width, int32_t height, const uint8_t* rgb, char* error,
                       int64_t error_size);
  int32_t (*open_gif)(const char* file, int32_t width, int32_t height, void** gif, char* error, int64_t error_size);
  // `hundredths` of a second, for which the frame is shown.
  int32_t (*add_to_gif)(void* gif, const uint8_t* rgb, int32_t hundredths, char* error, int64_t error_size);
  int32_t (*close_gif)(void* gif, char* error, int64_t error_size);  // frees it in any case
};

}  // namespace drl

extern "C" {
using DrlFilmPluginFunction = const drl::FilmPlugin* (*)();
}
#define DRL_FILM_PLUGIN_SYMBOL "drl_film_plugin"

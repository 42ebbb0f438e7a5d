// The binary interface between drl_eval and the plugin drl_film.so. Because of the plugin, drl_eval is not linked with
// MuJoCo, libpng and giflib. The interface consists of plain structs. Functions return the codes of with_error_code
// (drl/task/border.hpp).
#pragma once

#include <cstdint>

#include "drl/canvas.hpp"

namespace drl {

inline constexpr uint64_t kFilmMagic = 0x4c5254'4d4c4946ull;
inline constexpr int32_t kFilmAbi = 2;
enum FilmOutcome : int32_t { kFilmed = 0, kOwnError = 1, kUserError = 2 };

struct FilmSettings {
  int32_t width, height;  // pixels
  int32_t threads;        // the number of threads to use
  const char* camera;     // "track", "free", or the name of a camera of the model
};

// The contents of a picture.
struct FilmView {
  Point at;
  float width;  // m; 0: not set by the task
  const Shape* shapes;
  int64_t shape_count;
  const char* model;   // a file; null: none
  const double* qpos;  // [qpos_size]
  int64_t qpos_size;
  const FieldHeights* heights;  // of the model's height fields, [heights_size]
  int64_t heights_size;
  const char* title;   // in the upper left corner
  const char* names;   // in the lower left corner: lines separated by \n
  const char* values;  // to the right of the names, line by line
};

struct FilmPlugin {
  uint64_t magic;
  int32_t abi;
  int32_t sizes[3];  // of this struct, FilmSettings and FilmView
  // A renderer must be used in the thread that opened it. Pixels are rgb [height, width, 3], top row first.
  int32_t (*open)(const FilmSettings* settings, void** renderer, char* error, int64_t error_size);
  int32_t (*draw)(void* renderer, const FilmView* view, uint8_t* rgb, char* error, int64_t error_size);
  void (*close)(void* renderer);
  int32_t (*write_png)(const char* file, int32_t width, int32_t height, const uint8_t* rgb, char* error,
                       int64_t error_size);
  int32_t (*open_gif)(const char* file, int32_t width, int32_t height, void** gif, char* error, int64_t error_size);
  // Adds a frame that is shown for `hundredths` of a second.
  int32_t (*add_to_gif)(void* gif, const uint8_t* rgb, int32_t hundredths, char* error, int64_t error_size);
  int32_t (*close_gif)(void* gif, char* error, int64_t error_size);  // frees gif even if it fails
};

}  // namespace drl

extern "C" {
using DrlFilmPluginFunction = const drl::FilmPlugin* (*)();
}
#define DRL_FILM_PLUGIN_SYMBOL "drl_film_plugin"

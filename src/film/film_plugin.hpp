// The binary interface between drl_eval or drl_view and the plugin drl_film.so. Because of the plugin, the programs are
// not linked with MuJoCo, libpng and giflib. The interface consists of plain structs. Functions return the codes of
// with_error_code (drl/task/border.hpp).
#pragma once

#include <cstdint>

#include "drl/canvas.hpp"

namespace drl {

inline constexpr uint64_t kFilmMagic = 0x4c5254'4d4c4946ull;
inline constexpr int32_t kFilmAbi = 3;
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

// An object that a picture shows, for programs that draw it themselves. drl_view's page reads these bytes.
enum class ObjectKind : uint8_t { sphere, capsule, ellipsoid, cylinder, box, plane, mesh, line, arrow };
struct SceneObject {
  ObjectKind kind;
  uint8_t is_fixed;   // it belongs to the world, not to the robot
  uint16_t mesh;      // for FilmPlugin::mesh
  uint8_t rgba[4];    // its colour
  uint8_t second[4];  // plane: colour of every other square; its last number is the side of a square, in cm
  float size[3];      // MuJoCo's geom_size; line: x is the width in pixels; line, arrow: z is the length
  float pos[3];       // m; of a line or arrow: where it begins
  float quat[4];      // w, x, y, z; z is the axis
};
struct ScenePicture {
  const SceneObject* objects;
  int64_t count;
  // The camera of videos: the point that it looks at, its distance (m), and the angles of its view (degrees).
  float at[3], distance, azimuth, elevation;
  int32_t follows;                // the camera moves with the robot
  int32_t positions, velocities;  // the sizes of the robot's qpos and qvel; 0 without a robot
};
struct SceneMesh {
  const float* points;  // [point_count, 6]: position and normal
  int64_t point_count;
  const uint32_t* corners;  // [corner_count], three of them for each triangle
  int64_t corner_count;
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
  // These list the objects of a picture, without OpenGL. Results are valid until the next call. All pictures show the same model.
  int32_t (*open_scene)(void** scene, char* error, int64_t error_size);
  int32_t (*place)(void* scene, const FilmView* view, int32_t shows_contacts, ScenePicture* picture, char* error,
                   int64_t error_size);
  int32_t (*mesh)(void* scene, int32_t mesh, SceneMesh* triangles, char* error, int64_t error_size);
  // Adds, to the last picture's qvel [ScenePicture::velocities], the change that moves the robot's root by `velocity`
  // (m/s, in world coordinates), as far as its joints allow.
  void (*push)(void* scene, const float* velocity, double* qvel);
  void (*close_scene)(void* scene);
};

}  // namespace drl

extern "C" {
using DrlFilmPluginFunction = const drl::FilmPlugin* (*)();
}
#define DRL_FILM_PLUGIN_SYMBOL "drl_film_plugin"

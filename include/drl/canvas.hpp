// The canvas on which a task's draw() shows an environment, for drl_eval --video. A task draws a few shapes, or a
// robot's model at given joint positions.
//
//   template <class Canvas>
//   static void draw(const State& s, const Params&, Canvas& canvas) {   // State of floats
//     canvas.look({0, 0, 0.5f}, 6);
//     canvas.capsule({s.x, 0, 0}, {s.x, 0, 1}, 0.05f, Canvas::orange);
//   }
//
// Lengths are in m. x points right, y away from the viewer, z up.
#pragma once

#include <cstdint>
#include <cstdio>

namespace drl {

struct Point {
  float x, y, z;
};

enum class ShapeKind : int32_t { capsule, line, arrow, box, sphere, ground };
struct Shape {
  ShapeKind kind;
  int32_t color;   // Canvas::Color
  Point from, to;  // the two ends; both are the position of a shape without ends
  Point half;      // box: half sizes; line: x is the width in pixels; others: x is the radius in m
  float angle;     // box: rotation about y, clockwise, in rad
};

// The heights of a model's height field, with which the model is shown instead of those in its file.
struct FieldHeights {
  int32_t field;          // its index in the model
  int32_t rows, columns;  // along y and x
  double size[4];         // MuJoCo's hfield_size
  const float* heights;   // [rows, columns], from 0 to 1; they must not change during a video
};

// The functions with which a Canvas in a task library draws, through the binary interface to drl.
struct CanvasCalls {
  void* context;
  void (*look)(void* context, Point at, float width);
  void (*add)(void* context, const Shape* shape);
  void (*model)(void* context, const char* file, const double* qpos, int64_t size);
  void (*text)(void* context, const char* name, const char* value);
  void (*heights)(void* context, const FieldHeights* heights);
};

class Canvas {
 public:
  using Point = drl::Point;
  enum Color : int32_t { black, grey, light_grey, white, blue, orange, green, red, purple, brown };
  static constexpr int kColors = brown + 1;

  explicit Canvas(const CanvasCalls& calls) : calls_(calls) {}

  // Sets the camera: `at` is the middle of the picture, which is `width` m wide there. Call it once.
  void look(Point at, float width) { calls_.look(calls_.context, at, width); }
  void capsule(Point from, Point to, float radius, Color color) {
    add({ShapeKind::capsule, color, from, to, {radius, 0, 0}, 0});
  }
  // `width` is in pixels.
  void line(Point from, Point to, float width, Color color) {
    add({ShapeKind::line, color, from, to, {width, 0, 0}, 0});
  }
  void arrow(Point from, Point to, float radius, Color color) {
    add({ShapeKind::arrow, color, from, to, {radius, 0, 0}, 0});
  }
  // `half` holds the distances from the centre to the sides. `angle` is a clockwise rotation, in rad.
  void box(Point centre, Point half, float angle, Color color) {
    add({ShapeKind::box, color, centre, centre, half, angle});
  }
  void sphere(Point centre, float radius, Color color) {
    add({ShapeKind::sphere, color, centre, centre, {radius, 0, 0}, 0});
  }
  // A checkered plane of 1 m squares at height z, up to the horizon.
  void ground(float z) { add({ShapeKind::ground, light_grey, {0, 0, z}, {0, 0, z}, {0, 0, 0}, 0}); }
  // A MuJoCo model (MJCF) at the joint positions qpos [size]. The model must not change during a video.
  void model(const char* file, const double* qpos, int64_t size) { calls_.model(calls_.context, file, qpos, size); }
  void heights(const FieldHeights& heights) { calls_.heights(calls_.context, &heights); }
  // A line of text in a corner of the picture, below time and reward: text("command", 0.5, "m/s").
  void text(const char* name, const char* value) { calls_.text(calls_.context, name, value); }
  void text(const char* name, double value, const char* unit) {
    char line[64];
    std::snprintf(line, sizeof(line), "%.2f %s", value, unit);
    text(name, line);
  }

 private:
  void add(const Shape& shape) { calls_.add(calls_.context, &shape); }
  const CanvasCalls& calls_;
};

}  // namespace drl

// Lists what a picture shows, for programs that draw it themselves.
#pragma once

#include <optional>
#include <vector>

#include "film/renderer/camera.hpp"
#include "film/renderer/scene.hpp"

namespace drl::film {

class Objects {
 public:
  // The results point into this object, and are valid until the next call.
  ScenePicture place(const FilmView& view, bool shows_contacts);
  SceneMesh mesh(int id);
  void push(const float* velocity, double* qvel);

 private:
  void add(const mjvGeom& geom);
  void color(const mjvGeom& geom, SceneObject& object);
  void take_mesh(int mesh);
  void take_heights(int field);

  Scene scene_;
  std::optional<ModelCamera> camera_;
  std::vector<SceneObject> objects_;
  std::vector<float> points_;      // [points, 6]
  std::vector<uint32_t> corners_;  // [triangles, 3]
};

}  // namespace drl::film

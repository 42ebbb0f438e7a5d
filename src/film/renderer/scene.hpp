// The objects that a picture shows: a robot's model, and the shapes that a task adds. It needs no OpenGL.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>

#include "film/film_plugin.hpp"
#include "film/renderer/stage.hpp"

namespace drl::film {

class Scene {
 public:
  Scene();
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Loads the model of the first picture, for pictures of this size in pixels. Throws std::invalid_argument if the
  // model is invalid. The other functions require a loaded model.
  void load(const FilmView& view, int width, int height);
  bool is_loaded() const { return model_ != nullptr; }
  // Moves the model to the picture's joint positions. Throws std::invalid_argument if their number does not fit.
  void place(const FilmView& view);
  // Computes the list of objects, as `camera` sees them. Throws std::invalid_argument if there are too many shapes.
  void update(const FilmView& view, mjvCamera& camera);
  // Returns the camera of this name of a task that draws shapes (task_camera()).
  mjvCamera look(const FilmView& view, const std::string& camera, double aspect);

  mjModel& model() { return *model_; }
  mjData& data() { return *data_; }
  mjvOption& options() { return options_; }
  mjvScene& geoms() { return scene_; }

 private:
  struct FreeData {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  void add(const Shape& shape);
  mjvGeom* next_geom();

  Model model_;
  std::unique_ptr<mjData, FreeData> data_;
  mjvOption options_;
  mjvScene scene_;
};

}  // namespace drl::film

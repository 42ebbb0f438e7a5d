// The cameras of videos.
#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "drl/canvas.hpp"

namespace drl::film {

// A camera for a robot's model. The name is that of a camera of the model, or "free" (MuJoCo's view of everything), or
// "track". If the model has no camera "track", that name selects a view of the robot, which follows it if it can move
// away.
class ModelCamera {
 public:
  // `data` must have positions. Throws std::invalid_argument for other names.
  ModelCamera(const std::string& name, const mjModel& model, const mjData& data);
  // A camera that views the robot as "track" does, also if the model has a camera of this name.
  ModelCamera(const mjModel& model, const mjData& data);
  bool follows() const { return follows_; }
  // Returns the camera for the next picture, about 1/30 s later.
  mjvCamera& follow(const mjData& data);

 private:
  void look_at_robot(const mjModel& model, const mjData& data);

  mjvCamera camera_;
  bool follows_ = false;
};

// The robot's root body: the first.
inline constexpr int kRoot = 1;

// Returns a camera for a task that draws shapes. "track" is the task's own view, from the side and slightly from above;
// "free" is from a corner. `aspect` is width / height. Throws std::invalid_argument for other names.
mjvCamera task_camera(const std::string& name, Point at, float width, double aspect, double fovy);

}  // namespace drl::film

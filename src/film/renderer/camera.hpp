// Where a picture is taken from.
#pragma once

#include <mujoco/mujoco.h>

#include <string>

#include "drl/canvas.hpp"

namespace drl::film {

// Of a robot's model: one of its own cameras; free, MuJoCo's view of all that there is; or track, which is its own
// camera of that name, or else keeps the robot in the middle, if it can go away.
class ModelCamera {
 public:
  // `data` with positions. Throws std::invalid_argument for a name that is none of these.
  ModelCamera(const std::string& name, const mjModel& model, const mjData& data);
  // For the next picture, 1/30 s later or so.
  mjvCamera& follow(const mjData& data);

 private:
  void look_at_robot(const mjModel& model, const mjData& data);

  mjvCamera camera_;
  bool follows_ = false;
};

// Of a task that draws shapes, whose own view is track: from the side, a little above. free: from a corner. `aspect`:
// width by height. Throws std::invalid_argument for another name.
mjvCamera task_camera(const std::string& name, Point at, float width, double aspect, double fovy);

}  // namespace drl::film

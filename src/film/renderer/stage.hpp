// The models that films show: a user's, or an empty one for tasks that draw shapes.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>

#include "drl/mujoco_model.hpp"

namespace drl::film {

using Model = std::unique_ptr<mjModel, DeleteModel>;

// The model in `file` (null: nothing but what follows), for pictures of so many pixels; where it has none of its own:
// sky, light, and squares on the ground. Throws std::invalid_argument with MuJoCo's text.
Model load_stage(const char* file, int width, int height);

// The number of the material of the ground's squares (1 m), -1 without.
int ground_material(const mjModel& model);

}  // namespace drl::film

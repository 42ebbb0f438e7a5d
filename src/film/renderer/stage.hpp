// The models that videos show: a user's model, or an empty one for tasks that draw shapes.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <span>

#include "drl/canvas.hpp"
#include "drl/physics/mujoco_model.hpp"

namespace drl::film {

using Model = std::unique_ptr<mjModel, DeleteModel>;

// Loads the model in `file` (null: an empty model) with these heights, for pictures of this size. Adds a sky and a
// light if it has none, and a checkered ground to planes without a material. Throws std::invalid_argument with MuJoCo's
// text if that fails.
Model load_stage(const char* file, std::span<const FieldHeights> heights, int width, int height);

// Returns the id of the material of the ground's 1 m squares, or -1 if there is none.
int ground_material(const mjModel& model);

}  // namespace drl::film

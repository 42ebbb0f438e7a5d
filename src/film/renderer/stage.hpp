// The models that films show: a user's, or an empty one for tasks that draw shapes.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>

namespace drl::film {

struct FreeModel {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
};
using Model = std::unique_ptr<mjModel, FreeModel>;

// The model in `file` (null: nothing but what follows), for pictures of so many pixels; where it has none of its own:
// sky, light, and squares on the ground. Throws UserError with MuJoCo's text.
Model load_stage(const char* file, int width, int height);

// The number of the material of the ground's squares (1 m), -1 without.
int ground_material(const mjModel& model);

}  // namespace drl::film

// URDF files as MuJoCo models: with meshes where ROS looks for them, and with what URDF has no words for.
#pragma once

#include <memory>
#include <string>

#include "apps/new_task/robot_task.hpp"
#include "drl/physics/mujoco_model.hpp"

namespace drl {

// Reads a URDF file. Joints with a limit of effort have it as their actuators' range; a free base stands on the floor.
// Throws UsageError if the file is no URDF, if it names meshes that are not there (all of them), if a moving link has
// no inertia, or if a motor has no limit of effort.
std::unique_ptr<mjSpec, DeleteSpec> read_urdf(const std::string& file, const UrdfAdditions& additions);

}  // namespace drl

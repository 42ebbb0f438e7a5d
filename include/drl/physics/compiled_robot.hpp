// The models that drl_robot has compiled, by file name. The headers that drl_robot writes specialise CompiledRobot.
#pragma once

#include "drl/task/abi.hpp"

namespace drl {

// Returns a hash of a file's name without its directories.
constexpr uint64_t model_key(const char* file) {
  const char* name = file;
  for (const char* at = file; *at; ++at)
    if (*at == '/') name = at + 1;
  return text_hash(name);
}

// A specialisation has these members:
//   static constexpr bool is_compiled = true;
//   static constexpr char id[] = "ant.xml (3fa2c1d09b7e)";   from model_id (drl/physics/mujoco_model.hpp)
//   template <class F> using Physics = physics::ant_robot::Physics<F>;
//   body_names, geom_names, site_names, actuator_names, joints; sensors and lacking_sensors, if the model has any
template <uint64_t Key>
struct CompiledRobot {
  static constexpr bool is_compiled = false;
  static constexpr char why_not[] = "its model was not compiled with its library";
};

// The physics of a robot that is also compiled with RANDOMISED (drl_add_task_library): each lane has its own masses,
// gains and so on. The code reads them from memory, so that a step takes longer.
template <uint64_t Key>
struct RandomisedRobot {
  static constexpr bool is_compiled = false;
  static constexpr char why_not[] = "its library was built without RANDOMISED";
};

}  // namespace drl

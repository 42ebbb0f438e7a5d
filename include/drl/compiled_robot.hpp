// Robots' models that drl_robot has compiled, by the name of their file: the headers that it writes specialise this.
#pragma once

#include "drl/task_abi.hpp"

namespace drl {

// Of a file's name without its folders.
constexpr uint64_t model_key(const char* file) {
  const char* name = file;
  for (const char* at = file; *at; ++at)
    if (*at == '/') name = at + 1;
  return text_hash(name);
}

//   static constexpr bool is_compiled = true;
//   static constexpr char id[] = "ant.xml (3fa2c1d09b7e)";   of the model, as model_id says (drl/mujoco_model.hpp)
//   template <class F> using Physics = physics::ant_robot::Physics<F>;
//   body_names, geom_names, site_names, actuator_names, joints; sensors, if there are any
template <uint64_t Key>
struct CompiledRobot {
  static constexpr bool is_compiled = false;
  static constexpr char why_not[] = "its model was not compiled with its library";
};

}  // namespace drl

// Defines DRL_ROBOT. Write DRL_ROBOT(Task) at the end of a robot's header, outside its namespace.
// drl_add_task_library(my_robots my_robot.hpp MUJOCO) generates several translation units: in one of them this macro
// defines the task on libmujoco, in the others its loops over lanes.
#pragma once

#if defined(DRL_ROBOT_LOOPS)
#include "drl/physics/task.hpp"
#if defined(DRL_ROBOT_RANDOMISED)
#define DRL_ROBOT(...) DRL_TASK(::drl::RandomisedTask<__VA_ARGS__>::template Of)
#else
#define DRL_ROBOT(...) DRL_TASK(::drl::PhysicsTask<__VA_ARGS__>::template Of)
#endif
#elif defined(DRL_MUJOCO)
#include "drl/physics/mujoco.hpp"
#if defined(DRL_MODEL_FOLDER)
#define DRL_TASK_HEADER(...)                      \
  template <>                                     \
  struct drl::TaskHeader<__VA_ARGS__> {           \
    static constexpr const char* file = __FILE__; \
  };
#else
#define DRL_TASK_HEADER(...)
#endif
#define DRL_ROBOT(...)                                                                       \
  DRL_TASK_HEADER(__VA_ARGS__)                                                               \
  extern template struct ::drl::ExactLoops<::drl::PhysicsTask<__VA_ARGS__>::template Of>;    \
  extern template struct ::drl::ExactLoops<::drl::RandomisedTask<__VA_ARGS__>::template Of>; \
  DRL_SIMULATOR(::drl::MujocoTask<__VA_ARGS__>)
#else
#define DRL_ROBOT(...)
#endif

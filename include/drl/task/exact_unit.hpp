// Include this first in a unit that includes headers of robots. Each DRL_ROBOT then defines the robot's loops in
// double, which are slow to compile.
#pragma once

#if defined(DRL_TASK)
#error "include this header before the headers of tasks"
#endif

#include "drl/task.hpp"
#include "drl/task/exact.hpp"

#define DRL_ROBOT_LOOPS  // drl/physics/define_robot.hpp
#undef DRL_TASK
#define DRL_TASK(...) template struct ::drl::ExactLoops<__VA_ARGS__>;

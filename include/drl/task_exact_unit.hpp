// First in a unit that includes headers of robots: each DRL_ROBOT is its loops in double, which take long to compile.
#pragma once

#if defined(DRL_TASK)
#error "a header of a task comes before this one"
#endif

#include "drl/task.hpp"
#include "drl/task_exact.hpp"

#define DRL_ROBOT_LOOPS  // robot.hpp
#undef DRL_TASK
#define DRL_TASK(...) template struct ::drl::ExactLoops<__VA_ARGS__>;

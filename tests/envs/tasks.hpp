// The test tasks.
#pragma once

#include "breaking_task.hpp"
#include "cutting_task.hpp"
#include "double_integrator.hpp"
#include "ladder_task.hpp"
#include "levers_task.hpp"
#include "robot_task.hpp"
#include "spring_task.hpp"

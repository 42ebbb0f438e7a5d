// Includes all built-in tasks. To add one, write a header like cartpole_v1.hpp and include it here: --task, --help,
// presets and tests then find it.
#pragma once

#include "tasks/acrobot_v1.hpp"
#include "tasks/cartpole.hpp"
#include "tasks/cartpole_v1.hpp"
#include "tasks/mountain_car_continuous_v0.hpp"
#include "tasks/mountain_car_v0.hpp"
#include "tasks/pendulum_v1.hpp"

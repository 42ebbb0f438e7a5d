// Every task of ours. A new one is a header like cartpole_v1.hpp and its #include here: --task, --help, presets and
// tests all follow from it.
#pragma once

#include "tasks/acrobot_v1.hpp"
#include "tasks/cartpole.hpp"
#include "tasks/cartpole_v1.hpp"
#include "tasks/mountain_car_continuous_v0.hpp"
#include "tasks/mountain_car_v0.hpp"
#include "tasks/pendulum_v1.hpp"

// Every task. A new one is a header like cartpole_v1.hpp, its #include here, and its name in the list: --task, --help,
// presets and tests all follow from it.
#pragma once

#include "tasks/acrobot_v1.hpp"
#include "tasks/cartpole.hpp"
#include "tasks/cartpole_v1.hpp"
#include "tasks/mountain_car_continuous_v0.hpp"
#include "tasks/mountain_car_v0.hpp"
#include "tasks/pendulum_v1.hpp"

// Calls what(task) for each of them.
#define DRL_FOR_EACH_TASK(what) \
  what(Cartpole) what(CartPoleV1) what(PendulumV1) what(AcrobotV1) what(MountainCarV0) what(MountainCarContinuousV0)

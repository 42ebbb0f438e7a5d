// Every task. A new one is a header like cartpole_v1.hpp, its #include here, and its name in the list: --task, --help,
// presets and tests all follow from it.
#pragma once

#include "tasks/acrobot_v1.hpp"
#include "tasks/cartpole.hpp"
#include "tasks/cartpole_v1.hpp"
#include "tasks/mountain_car_continuous_v0.hpp"
#include "tasks/mountain_car_v0.hpp"
#include "tasks/pendulum_v1.hpp"

namespace drl {

template <template <class> class... Tasks>
struct TaskList {};

using AllTasks = TaskList<Cartpole, CartPoleV1, PendulumV1, AcrobotV1, MountainCarV0, MountainCarContinuousV0>;

}  // namespace drl

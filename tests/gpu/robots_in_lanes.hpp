// Includes all robots with compiled models. Include it after the header of a unit (drl/task/table_unit.hpp or
// drl/task/gpu_unit.hpp).
#if !defined(DRL_ROBOT_LOOPS)
#define DRL_ROBOT_LOOPS  // excludes the tasks that libmujoco simulates
#endif
#include "physics/ant.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/hopper.hpp"
#include "physics/humanoid.hpp"
#include "physics/humanoid_standup.hpp"
#include "physics/inverted_double_pendulum.hpp"
#include "physics/inverted_pendulum.hpp"
#include "physics/reacher.hpp"
#include "physics/walker2d.hpp"
#include "robots/ant.hpp"
#include "robots/half_cheetah.hpp"
#include "robots/hopper.hpp"
#include "robots/humanoid.hpp"
#include "robots/humanoid_standup.hpp"
#include "robots/inverted_double_pendulum.hpp"
#include "robots/inverted_pendulum.hpp"
#include "robots/reacher.hpp"
#include "robots/walker2d.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
// Must follow its model.
#include "robots/go1_velocity_flat.hpp"
#endif
#if DRL_HAS_G1
#include "physics/g1.hpp"
// Must follow its model.
#include "robots/g1_velocity_flat.hpp"
#endif

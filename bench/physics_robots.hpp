// The robots that physics_bench steps.
#pragma once

#include "drl/physics_loop.hpp"
#include "physics/ant.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/hopper.hpp"
#include "physics/humanoid.hpp"
#include "physics/humanoid_standup.hpp"
#include "physics/swimmer.hpp"
#include "physics/walker2d.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
#define DRL_GO1(what) what(go1_robot)
#else
#define DRL_GO1(what)
#endif

#define DRL_FOR_EACH_ROBOT(what)                                                                        \
  what(half_cheetah_robot) what(ant_robot) what(walker2d_robot) what(hopper_robot) what(humanoid_robot) \
      what(humanoid_standup_robot) what(swimmer_robot) DRL_GO1(what)

// The robots that physics_bench steps.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/ant.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/hopper.hpp"
#include "physics/humanoid.hpp"
#include "physics/humanoid_standup.hpp"
#include "physics/swimmer.hpp"
#include "physics/walker2d.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
#endif
#if DRL_HAS_G1
#include "physics/g1.hpp"
#endif

// The compiled robots of these tests.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/ant.hpp"
#include "physics/half_cheetah.hpp"
#include "physics/hopper.hpp"
#include "physics/humanoid.hpp"
#include "physics/humanoid_standup.hpp"
#include "physics/inverted_double_pendulum.hpp"
#include "physics/inverted_pendulum.hpp"
#include "physics/pile.hpp"
#include "physics/reacher.hpp"
#include "physics/swimmer.hpp"
#include "physics/tangle.hpp"
#include "physics/walker2d.hpp"

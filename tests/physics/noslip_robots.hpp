// Robots that use the noslip solver.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/gears.hpp"
#include "physics/gears_rk4.hpp"
#include "physics/noslip.hpp"
#include "physics/noslip_elliptic.hpp"
#include "physics/sled.hpp"

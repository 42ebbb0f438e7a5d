// Robots with slider-cranks.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/crank.hpp"

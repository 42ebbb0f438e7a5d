// Robots with tendons.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/cords.hpp"
#include "physics/cords_elliptic.hpp"
#include "physics/ropes.hpp"
#include "physics/windlass.hpp"

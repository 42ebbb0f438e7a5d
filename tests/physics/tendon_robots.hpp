// Robots with tendons and with actuators on other parts than joints.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/cords.hpp"
#include "physics/cords_elliptic.hpp"
#include "physics/rocket.hpp"
#include "physics/ropes.hpp"
#include "physics/thrusters.hpp"
#include "physics/windlass.hpp"

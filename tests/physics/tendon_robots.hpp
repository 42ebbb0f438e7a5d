// Robots with tendons, with actuators on other parts than joints, with activations, and with ball joints.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/balls.hpp"
#include "physics/capstan.hpp"
#include "physics/cords.hpp"
#include "physics/cords_elliptic.hpp"
#include "physics/muscles.hpp"
#include "physics/muscles_rk4.hpp"
#include "physics/pivot.hpp"
#include "physics/pump.hpp"
#include "physics/rocket.hpp"
#include "physics/ropes.hpp"
#include "physics/thrusters.hpp"
#include "physics/windlass.hpp"

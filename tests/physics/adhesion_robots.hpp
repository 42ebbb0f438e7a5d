// Robots with actuators that adhere to contacts, and with friction that differs by direction.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/gecko.hpp"
#include "physics/gecko_elliptic.hpp"

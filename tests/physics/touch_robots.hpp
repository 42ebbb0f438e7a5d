// Robots with sensors of touch, force and torque.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/toucher.hpp"
#include "physics/toucher_elliptic.hpp"

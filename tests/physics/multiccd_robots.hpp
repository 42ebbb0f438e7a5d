// Robots whose models have the flag multiccd.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/bricks.hpp"
#include "physics/drums.hpp"

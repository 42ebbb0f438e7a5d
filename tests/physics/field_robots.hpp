// Robots on height fields.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/bumps.hpp"
#include "physics/hills.hpp"
#include "physics/stones.hpp"

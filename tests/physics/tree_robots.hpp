// Robots with long chains of joints, whose mass matrix is factorised in loops (drl/physics/trees.hpp).
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/snake.hpp"
#include "physics/snake_alone.hpp"
#include "physics/snake_noslip.hpp"

// Robots with long chains of joints, which are computed in loops (drl/physics/trees.hpp, tree_motion.hpp).
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/serpents.hpp"
#include "physics/snake.hpp"
#include "physics/snake_alone.hpp"
#include "physics/snake_noslip.hpp"

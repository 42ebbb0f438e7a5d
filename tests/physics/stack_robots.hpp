// Robots with contacts between all kinds of shapes.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/heap.hpp"
#include "physics/slope.hpp"
#include "physics/spinners.hpp"
#include "physics/stack.hpp"
#include "physics/stack_elliptic.hpp"
#include "physics/stairs.hpp"

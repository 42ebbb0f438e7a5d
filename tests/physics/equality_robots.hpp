// Robots with equality constraints.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/coupled.hpp"
#include "physics/linkage.hpp"

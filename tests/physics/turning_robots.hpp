// A robot whose integrator treats gyroscopic forces implicitly.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/tumbler.hpp"

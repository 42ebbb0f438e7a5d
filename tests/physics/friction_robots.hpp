// Robots with dry friction.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/manipulator.hpp"
#include "physics/skid.hpp"
#include "physics/slider.hpp"

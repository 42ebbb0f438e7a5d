// Robots with elliptic cones.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/crawler.hpp"
#include "physics/pincers.hpp"
#include "physics/skater.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
#endif

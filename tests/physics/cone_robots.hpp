// Robots with elliptic cones.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/crawler.hpp"
#include "physics/feeler_cones.hpp"
#include "physics/feeler_plane.hpp"
#include "physics/feeler_pyramids.hpp"
#include "physics/pincers.hpp"
#include "physics/skater.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
#endif

// Robots whose contacts are too stiff for float.
#pragma once

#include "drl/physics/loop.hpp"
#include "physics/stiff_foot.hpp"
#include "physics/stiff_skater.hpp"

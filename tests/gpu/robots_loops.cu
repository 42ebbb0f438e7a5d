#include "drl/task/gpu_unit.hpp"
#include "robots_in_lanes.hpp"

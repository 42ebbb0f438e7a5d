#include "drl/task_gpu_unit.hpp"
#include "robots_in_lanes.hpp"

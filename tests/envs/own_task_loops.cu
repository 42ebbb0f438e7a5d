#include "drl/task/gpu_unit.hpp"
#include "tasks.hpp"

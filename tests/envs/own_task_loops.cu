#include "drl/task_gpu_unit.hpp"
#include "tasks.hpp"

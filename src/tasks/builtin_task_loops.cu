// The loops of the built-in tasks on a GPU.
#include "drl/task/gpu_unit.hpp"
#include "tasks/builtin_tasks.hpp"

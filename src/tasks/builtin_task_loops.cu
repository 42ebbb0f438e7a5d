// The loops of our tasks on a GPU.
#include "drl/task_gpu_unit.hpp"
#include "tasks/own_tasks.hpp"

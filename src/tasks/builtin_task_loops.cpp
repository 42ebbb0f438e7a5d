// The loops of our tasks, once for each instruction set.
#include "drl/task_host_unit.hpp"
#include "tasks/own_tasks.hpp"

// The loops of the built-in tasks on a CPU. Compiled once per instruction set.
#include "drl/task/host_unit.hpp"
#include "tasks/builtin_tasks.hpp"

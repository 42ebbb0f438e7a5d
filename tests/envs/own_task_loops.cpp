#include "drl/task_host_unit.hpp"
#include "tasks.hpp"

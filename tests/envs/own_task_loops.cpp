#include "drl/task/host_unit.hpp"
#include "tasks.hpp"

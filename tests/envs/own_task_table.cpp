#include "own_task_table.hpp"

#include "drl/task/table_unit.hpp"
#include "tasks.hpp"

namespace drl {

const TaskLibrary& test_tasks() { return *library_of_this_unit(""); }

}  // namespace drl

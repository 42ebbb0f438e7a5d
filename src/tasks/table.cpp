#include "tasks/table.hpp"

#include "drl/task/table_unit.hpp"
#include "tasks/builtin_tasks.hpp"

namespace drl {

const TaskLibrary& builtin_tasks() { return *library_of_this_unit(""); }

}  // namespace drl

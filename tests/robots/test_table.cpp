#include "drl/task/table_unit.hpp"
// This must follow the table unit's header, as in a task library.
#include "test_robots.hpp"

namespace drl {

const TaskLibrary& test_robots() { return *library_of_this_unit(""); }

}  // namespace drl

#include "simulators.hpp"

#include "drl/task_table_unit.hpp"
// Behind it, as in a library's table.
#include "../../examples/own_simulator/arm.hpp"
#include "small_simulators.hpp"

namespace drl {

const TaskLibrary& test_simulators() { return *library_of_this_unit(""); }

}  // namespace drl

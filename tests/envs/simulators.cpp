#include "simulators.hpp"

#include "drl/task/table_unit.hpp"
// These must follow the table unit's header, as in a task library.
#include "../../examples/own_simulator/arm.hpp"
#include "small_simulators.hpp"

namespace drl {

const TaskLibrary& test_simulators() { return *library_of_this_unit(""); }

}  // namespace drl

#include "drl/task_table_unit.hpp"
#include "robots_in_lanes.hpp"

namespace drl {

// No film is made of them here.
template <template <class> class Task>
const char* filmed_model() {
  return "";
}

const TaskLibrary& robots_in_lanes() { return *library_of_this_unit(""); }

}  // namespace drl

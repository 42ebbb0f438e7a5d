#include "drl/task/table_unit.hpp"
#include "robots_in_lanes.hpp"

namespace drl {

// These tests record no videos.
template <template <class> class Task>
const char* filmed_model() {
  return "";
}

const TaskLibrary& robots_in_lanes() { return *library_of_this_unit(""); }

}  // namespace drl

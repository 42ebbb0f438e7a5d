// The names under which other projects have drl's tasks, or tasks that are similar.
#pragma once

#include <string_view>

namespace drl {

struct OtherName {
  std::string_view theirs, ours;
  std::string_view difference;  // of ours from theirs, as a sentence; "": it is the same task
};

// Returns the entry for a name, or null. A name of Isaac Lab may be that of a task for playing ("-Play").
const OtherName* other_name(std::string_view name);

}  // namespace drl

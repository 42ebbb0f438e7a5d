// The id of a robot's model, such as "ant.xml (3fa2c1d09b7e)": a file name, and a hash of the compiled model.
#pragma once

#include <algorithm>
#include <string_view>

namespace drl {

// Returns whether two ids have the same hash: the models are then bit-identical, whatever their files are called.
inline bool is_same_model(std::string_view id, std::string_view other) {
  const auto hash = [](std::string_view text) { return text.substr(std::min(text.rfind('('), text.size())); };
  return hash(id) == hash(other);
}

}  // namespace drl

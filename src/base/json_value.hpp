// Reading run.json, which users may edit.
#pragma once

#include <nlohmann/json.hpp>

namespace drl {

// Returns the member `name` of an object, or `otherwise` if it is missing or has another type.
template <class Json, class T>
T value_or(const Json& object, const char* name, T otherwise) {
  try {
    return object.value(name, otherwise);
  } catch (const nlohmann::json::exception&) {
    return otherwise;
  }
}

}  // namespace drl

#pragma once

#include "envs/make_env.hpp"

namespace drl {

// The tests' own tasks.
const TaskLibrary& test_tasks();

// They are known by name afterwards; as often as one likes.
inline void register_test_tasks() {
  [[maybe_unused]] static const bool once = (register_tasks(test_tasks(), "the tests"), true);
}

}  // namespace drl

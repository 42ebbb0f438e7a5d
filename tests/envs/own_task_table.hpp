#pragma once

#include <gtest/gtest.h>

#include "envs/make_env.hpp"

namespace drl {

// Returns the test tasks.
const TaskLibrary& test_tasks();

// Registers the test tasks by name. Further calls do nothing.
inline void register_test_tasks() {
  [[maybe_unused]] static const bool once = (register_tasks(test_tasks(), "the tests"), true);
}

// Tests of these tasks, by name.
class TestTasks : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_test_tasks(); }
};

}  // namespace drl

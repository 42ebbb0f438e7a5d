// The message of an error that a call must throw.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/check.hpp"
#include "mentions.hpp"

namespace drl {

enum class Lines { one, several };

// Returns the message of the exception of type E that `action` throws, or "" if it throws none. Expects that the
// message is one line, unless `lines` allows several.
template <class E = UsageError, class Action>
std::string error_of(Action&& action, Lines lines = Lines::one) {
  try {
    action();
  } catch (const E& error) {
    const std::string message = error.what();
    EXPECT_TRUE(lines == Lines::several || message.find('\n') == std::string::npos) << message;
    return message;
  }
  return "";
}

}  // namespace drl

// Assertions on the result of a check.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "../support/mentions.hpp"
#include "doctor/report.hpp"

namespace drl {

using Parts = std::initializer_list<std::string_view>;

// Expects this status, that the finding mentions all of `finding`, and that the remedy mentions all of `remedy`.
inline void expect_finding(const Check& check, Status status, Parts finding, Parts remedy = {},
                           const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (check.status != status) ADD_FAILURE_AT(file, line) << "another status: " << lines_of(check);
  expect_mentions(check.finding, finding, file, line);
  expect_mentions(check.remedy, remedy, file, line);
}

}  // namespace drl

// Assertions on what a message mentions, so that rewording it does not break a test.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace drl {

// Fails once for each of `parts` that `text` does not contain; the failure points to the caller's line.
inline void expect_mentions(std::string_view text, std::initializer_list<std::string_view> parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  for (const std::string_view part : parts)
    if (text.find(part) == std::string_view::npos)
      ADD_FAILURE_AT(file, line) << "\"" << part << "\" is missing in \"" << text << "\"";
}

}  // namespace drl

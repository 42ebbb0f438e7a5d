// Messages of errors, and assertions on what they mention, so that rewording them does not break a test.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <typeinfo>

namespace drl {

// Fails once for each of `parts` that `text` does not contain; the failure points to the caller's line.
inline void expect_mentions(std::string_view text, std::initializer_list<std::string_view> parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  for (const std::string_view part : parts)
    if (text.find(part) == std::string_view::npos)
      ADD_FAILURE_AT(file, line) << "\"" << part << "\" is missing in \"" << text << "\"";
}

// Returns the message of the error that work() throws, or "no error". The error must be an E, not of a derived class.
template <class E, class Work>
std::string error_from(const Work& work) {
  try {
    work();
  } catch (const E& error) {
    EXPECT_TRUE(typeid(error) == typeid(E)) << "another kind of error: " << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace drl

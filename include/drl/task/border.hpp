// Converts exceptions to error codes, at the boundary between a library and a program of another compiler.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace drl {

// Calls work(). Returns 0 if it did not throw, 2 if it threw a std::invalid_argument (the user can correct the
// problem), and 1 for other exceptions. Writes the exception's text to error [error_size].
template <class Work>
int32_t with_error_code(char* error, int64_t error_size, const Work& work) {
  const auto report = [&](const char* text) { std::snprintf(error, static_cast<size_t>(error_size), "%s", text); };
  try {
    work();
    return 0;
  } catch (const std::invalid_argument& thrown) {
    report(thrown.what());
    return 2;
  } catch (const std::exception& thrown) {
    report(thrown.what());
  } catch (...) {
    report("an exception that is not a std::exception");
  }
  return 1;
}

}  // namespace drl

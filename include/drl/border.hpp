// What a library's function gives to a program of another compiler: a number and words, no exception.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace drl {

// Calls work(); an exception's text goes to error [error_size]. 0 if there was none, 2 if the user can correct it (it
// is a std::invalid_argument), else 1.
template <class Work>
int32_t at_the_border(char* error, int64_t error_size, const Work& work) {
  const auto say = [&](const char* text) { std::snprintf(error, static_cast<size_t>(error_size), "%s", text); };
  try {
    work();
    return 0;
  } catch (const std::invalid_argument& thrown) {
    say(thrown.what());
    return 2;
  } catch (const std::exception& thrown) {
    say(thrown.what());
  } catch (...) {
    say("an exception that is no std::exception");
  }
  return 1;
}

}  // namespace drl

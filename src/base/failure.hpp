// The text of an exception that is not necessarily drl's Error.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace drl {

// Returns what the exception says, and for std::bad_alloc, whose text is only its name, a message with a remedy.
inline std::string message_of(const std::exception& error) {
  if (!dynamic_cast<const std::bad_alloc*>(&error)) return error.what();
  return "there is not enough memory (" + std::string(error.what()) +
         "): request more memory for the job, or use fewer environments (--num_envs)";
}

}  // namespace drl

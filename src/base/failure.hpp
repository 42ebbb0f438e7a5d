// The text of an exception that is not necessarily drl's Error.
#pragma once

#include <exception>
#include <new>

namespace drl {

inline constexpr const char* kNoMemory =
    "there is not enough memory (std::bad_alloc): request more memory for the job (sbatch --mem)";

// Returns what the exception says, and for std::bad_alloc, whose text is only its name, a message with a remedy. The
// text is valid as long as the exception. Allocates nothing.
inline const char* message_of(const std::exception& error) noexcept {
  return dynamic_cast<const std::bad_alloc*>(&error) ? kNoMemory : error.what();
}

}  // namespace drl

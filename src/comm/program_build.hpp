// Which build of the program this process runs.
#pragma once

#include <string>

namespace drl {

// "0.1.0 (149828e6d51d), build 3fa2c1d09b7e": version, git hash, and what the linker made of all that it linked. Equal
// only for the same file, wherever it lies; without the last part where the linker writes none.
std::string program_build();

}  // namespace drl

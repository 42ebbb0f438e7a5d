// The build of the running program.
#pragma once

#include <string>

namespace drl {

// Returns version, git hash and GNU build id: "0.1.0 (149828e6d51d), build 3fa2c1d09b7e". Only copies of the same file
// have equal texts. The build id is left out if the linker wrote none.
std::string program_build();

}  // namespace drl

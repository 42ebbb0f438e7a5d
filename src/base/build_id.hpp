#pragma once

#include <string>

namespace drl {

// Returns the first twelve digits of the GNU build id of the program or shared library that contains `address` (of a
// function or a static object). Returns "" if the linker wrote no build id.
std::string build_id_of(const void* address);

// Returns version, git hash and GNU build id of the running program: "0.1.0 (149828e6d51d), build 3fa2c1d09b7e". Only
// copies of the same file have equal texts. The build id is left out if the linker wrote none.
std::string program_build();

}  // namespace drl

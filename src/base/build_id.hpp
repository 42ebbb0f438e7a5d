#pragma once

#include <string>

namespace drl {

// Returns the first twelve digits of the GNU build id of the program or shared library that contains `address` (of a
// function or a static object). Returns "" if the linker wrote no build id.
std::string build_id_of(const void* address);

}  // namespace drl

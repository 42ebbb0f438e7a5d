#pragma once

#include <string>

namespace drl {

// What the linker made of all that it linked into the program or shared library that holds `address` (a function's, or
// a static object's): the first twelve digits of its GNU build id. "" where it wrote none.
std::string build_id_of(const void* address);

}  // namespace drl

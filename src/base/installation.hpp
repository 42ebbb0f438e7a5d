// The directory in which this program is installed.
#pragma once

#include <filesystem>

namespace drl {

// Returns the directory that contains the program's bin/ and lib/drl, in a build directory or an installation, also
// after it was moved.
std::filesystem::path installation();

}  // namespace drl

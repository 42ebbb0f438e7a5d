// Where this program is installed.
#pragma once

#include <filesystem>

namespace drl {

// The folder that holds the program's bin/, and beside it lib/drl. Built or installed, and wherever it was moved.
std::filesystem::path installation();

}  // namespace drl

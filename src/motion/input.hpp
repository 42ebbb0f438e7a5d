// Reads the files that drl_motion converts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "store/file.hpp"

namespace drl {

// Returns the content of a file. Throws UsageError if it cannot be read, is no regular file, is empty, or has more than
// 4 GiB.
inline std::vector<std::byte> read_input(const std::string& path) {
  constexpr double kMost = 4.0 * (1 << 30);
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    throw UsageError("motion " + path + " is not a file (it may be a directory or a device): give a .csv or .npz file");
  if (const auto size = fs::file_size(path, ignored); !ignored && static_cast<double>(size) > kMost)
    throw UsageError("motion " + path + " has " + human_bytes(static_cast<double>(size)) +
                     " (at most 4 GiB): cut it into several files");
  std::vector<std::byte> content = read_file(path);
  if (content.empty()) throw UsageError("motion " + path + " is empty (0 bytes): give a .csv or .npz file");
  return content;
}

}  // namespace drl

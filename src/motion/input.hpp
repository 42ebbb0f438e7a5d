// Reads the files of other programs: motions that drl_motion converts, and networks of motors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "store/file.hpp"

namespace drl {

// The words of messages about a file: what it is, and the files that can be given.
struct InputWords {
  const char *what, *remedy;
};
inline constexpr InputWords kMotionWords{"motion", "give a .csv or .npz file"};

// Returns the content of a file. Throws UsageError if it cannot be read, is no regular file, is empty, or has more than
// 4 GiB.
inline std::vector<std::byte> read_input(const std::string& path, const InputWords& words = kMotionWords) {
  constexpr double kMost = 4.0 * (1 << 30);
  namespace fs = std::filesystem;
  const std::string name = std::string(words.what) + " " + path;
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    throw UsageError(name + " is not a file (it may be a directory or a device): " + words.remedy);
  if (const auto size = fs::file_size(path, ignored); !ignored && static_cast<double>(size) > kMost)
    throw UsageError(name + " has " + human_bytes(static_cast<double>(size)) +
                     " (at most 4 GiB): cut it into several files");
  std::vector<std::byte> content = read_file(path);
  if (content.empty()) throw UsageError(name + " is empty (0 bytes): " + words.remedy);
  return content;
}

}  // namespace drl

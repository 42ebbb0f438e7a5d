// Files that survive a kill or a full disk in mid-write.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/text.hpp"

namespace drl {

// The whole file. Throws UsageError with the system's reason.
std::vector<std::byte> read_file(const std::filesystem::path& path);

// Throws UsageError unless `path`, which --`option` names, is a file or may become one: before work that ends there.
void require_output(const std::string& option, const std::filesystem::path& path);

// Creates or replaces `path`: written to `<path>.tmp`, synced, read back and compared, renamed, folder synced. Whatever
// ends the process in between, `path` is the old file or the new one; a later call for the same path removes a `.tmp`
// left by a kill. On any failure removes the temporary, leaves the previous file untouched and throws Error with the
// system's reason. One writer per path at a time.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

// A file that grows by whole records.
class AppendFile {
 public:
  enum class Start { create, append };  // create: fails if the file exists. append: the file must exist

  // Throws Error with the system's reason.
  AppendFile(std::filesystem::path path, Start start);

  // All of `bytes` or nothing: on failure (a full disk) cuts the file back and throws Error.
  void append(std::span<const std::byte> bytes);
  // Returns when the file is on the disk. Throws Error.
  void sync();

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace drl

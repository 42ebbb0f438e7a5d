// Reads and writes files so that a kill or a full disk during a write never damages them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/text.hpp"

namespace drl {

// Reads the whole file. Throws UsageError with the system's reason.
std::vector<std::byte> read_file(const std::filesystem::path& path);

std::string read_text(const std::filesystem::path& path);  // the same, as text

// Throws UsageError unless `path`, the value of --`option`, is a file or can be created. Call before the work whose
// result goes there.
void require_output(const std::string& option, const std::filesystem::path& path);

// Throws UsageError if two of the files, each with the name of its option, are the same one. Empty paths are skipped.
void require_different(const std::vector<std::pair<std::string, std::filesystem::path>>& files);

// Creates or replaces `path`: writes `<path>.tmp`, syncs it, reads it back and compares it, renames it, and syncs the
// directory. Even if the process is killed, `path` is either the old file or the new one. A later call for the same
// path removes a `.tmp` left by a kill. On failure removes the temporary file, leaves the previous file untouched and
// throws Error with the system's reason. Only one process may write a path at a time.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

// A file to which only whole records are appended.
class AppendFile {
 public:
  enum class Start { create, append };  // create: the file must not exist; append: it must exist

  // Throws Error with the system's reason.
  AppendFile(std::filesystem::path path, Start start);

  // Keeps a record in memory until flush().
  void append(std::string_view record) { unwritten_ += record; }
  // Appends all records kept in memory to the file, or none: on failure (such as a full disk) restores the file's
  // previous size and throws Error; the records stay in memory for the next call.
  void flush();
  // Flushes, and waits until the file is on the disk. Throws Error.
  void sync();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::string unwritten_;
};

}  // namespace drl

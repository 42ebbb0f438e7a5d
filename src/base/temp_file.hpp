// Short-lived files and directories in places where other users can write too (/tmp, a scratch directory). Symbolic
// links are never followed, and files of other users are never used.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace drl {

// Returns $TMPDIR if it is a writable directory, else /tmp: a job's TMPDIR may be missing on some of its nodes.
std::filesystem::path temp_folder();

// A new file with mode 0600 and an unpredictable name. The destructor removes it.
class TempFile {
 public:
  // Creates `<folder>/<name>.<random>`. Throws UsageError.
  explicit TempFile(const std::string& name, std::string_view text = "",
                    const std::filesystem::path& folder = temp_folder());
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }
  // Returns the current content; another process may have written it.
  std::string text() const;

 private:
  std::string path_;
  Descriptor file_;
};

// Creates the file with mode 0600. Returns false on failure, with the reason in errno; the path must not exist yet.
bool create_private_file(const std::filesystem::path& path, std::string_view text);
// Replaces the text of an existing regular file that this user owns. Returns false on failure, also for a link.
bool write_own_file(const std::filesystem::path& path, std::string_view text);

// A directory that several processes of this user share under a predictable name. It is used only if its mode is 0700.
class PrivateFolder {
 public:
  enum class Open { existing, create_if_missing };

  // A link, another user's directory, or one that other users can access counts as missing.
  PrivateFolder(std::filesystem::path path, Open mode);

  bool exists() const { return folder_ >= 0; }
  bool create(const std::string& name) const;  // an empty file, which may already exist
  void remove(const std::string& name) const;
  std::vector<std::string> names() const { return exists() ? names_in(folder_) : std::vector<std::string>(); }
  // Removes the directory itself if it is empty.
  void remove_if_empty() const;

 private:
  std::filesystem::path path_;
  Descriptor folder_;
};

}  // namespace drl

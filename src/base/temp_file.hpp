// Files and folders that hold for a short time, in places where other users write too (/tmp, a scratch folder): what
// they have planted there, links above all, is neither followed nor taken for ours.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace drl {

// $TMPDIR if that is a folder which can be written, else /tmp: a job's TMPDIR may be missing on some of its nodes.
std::filesystem::path temp_folder();

// A new file in temp_folder(), for this user alone (0600), under a name that nobody can guess. It goes with this
// object.
class TempFile {
 public:
  // `<folder>/<name>.<random>`. Throws UsageError.
  explicit TempFile(const std::string& name, std::string_view text = "");
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }
  // What it holds now, whoever wrote it.
  std::string text() const;

 private:
  std::string path_;
  Descriptor file_;
};

// Creates the file for this user alone; false, with the reason in errno, if anything of that name is there.
bool create_own_file(const std::filesystem::path& path, std::string_view text);
// Replaces the text of a file that is this user's; false for a link, another user's file, or one that is not there.
bool write_own_file(const std::filesystem::path& path, std::string_view text);

// A folder that several processes of this user share under a name that others can guess: 0700, or it is not taken.
class OwnFolder {
 public:
  enum class If { there, missing_create };

  // One that is a link, another user's, or open to others counts as not there.
  OwnFolder(std::filesystem::path path, If when);

  bool is_there() const { return folder_ >= 0; }
  bool create(const std::string& name) const;  // an empty file; it may be there already
  void remove(const std::string& name) const;
  std::vector<std::string> names() const { return is_there() ? names_in(folder_) : std::vector<std::string>(); }
  // The folder itself, if nothing is in it.
  void remove_if_empty() const;

 private:
  std::filesystem::path path_;
  Descriptor folder_;
};

}  // namespace drl

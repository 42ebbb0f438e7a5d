#include "base/temp_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool write_and_close(int file, std::string_view text) {
  const bool written = write_all(file, text);
  return close(file) == 0 && written;
}

}  // namespace

fs::path temp_folder() {
  const char* folder = std::getenv("TMPDIR");
  std::error_code error;
  const bool usable = folder && *folder && fs::is_directory(folder, error) && access(folder, W_OK | X_OK) == 0;
  return usable ? folder : "/tmp";
}

TempFile::TempFile(const std::string& name, std::string_view text) : path_(temp_folder() / (name + ".XXXXXX")) {
  file_ = mkostemp(path_.data(), O_CLOEXEC);
  if (file_ >= 0 && write_all(file_, text)) return;
  const int why = errno;
  if (file_ >= 0) close(file_), unlink(path_.c_str());
  throw UsageError("no temporary file " + path_ + " (" + std::strerror(why) +
                   "): set TMPDIR to a folder that can be written");
}

TempFile::~TempFile() {
  unlink(path_.c_str());
  close(file_);
}

std::string TempFile::text() const {
  std::string text;
  char part[512];
  for (ssize_t n; (n = pread(file_, part, sizeof(part), static_cast<off_t>(text.size()))) > 0;)
    text.append(part, static_cast<size_t>(n));
  return text;
}

bool create_own_file(const fs::path& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return file >= 0 && write_and_close(file, text);
}

bool write_own_file(const fs::path& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status;
  const bool own = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  if (own && ftruncate(file, 0) == 0) return write_and_close(file, text);
  close(file);
  return false;
}

OwnFolder::OwnFolder(fs::path path, If when) : path_(std::move(path)) {
  if (when == If::missing_create) mkdir(path_.c_str(), 0700);
  folder_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (folder_ < 0 || (fstat(folder_, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0))
    return;
  close(folder_);
  folder_ = -1;
}

OwnFolder::~OwnFolder() {
  if (is_there()) close(folder_);
}

bool OwnFolder::create(const std::string& name) const {
  if (!is_there()) return false;
  const int file = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

void OwnFolder::remove(const std::string& name) const {
  if (is_there()) unlinkat(folder_, name.c_str(), 0);
}

std::vector<std::string> OwnFolder::names() const {
  std::vector<std::string> names;
  const int copy = is_there() ? openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  DIR* entries = copy < 0 ? nullptr : fdopendir(copy);
  if (!entries) return names;
  while (const dirent* entry = readdir(entries))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  closedir(entries);
  return names;
}

void OwnFolder::remove_if_empty() const {
  if (is_there()) rmdir(path_.c_str());
}

}  // namespace drl

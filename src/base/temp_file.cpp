#include "base/temp_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

bool write_and_close(Descriptor file, std::string_view text) {
  const bool written = write_all(file, bytes_of(text));
  return file.close() == 0 && written;
}

}  // namespace

fs::path temp_folder() {
  const char* folder = std::getenv("TMPDIR");
  std::error_code error;
  const bool usable = folder && *folder && fs::is_directory(folder, error) && access(folder, W_OK | X_OK) == 0;
  return usable ? folder : "/tmp";
}

TempFile::TempFile(const std::string& name, std::string_view text, const fs::path& folder)
    : path_(folder / (name + ".XXXXXX")), file_(mkostemp(path_.data(), O_CLOEXEC)) {
  if (file_ >= 0 && write_all(file_, bytes_of(text))) return;
  const int why = errno;
  if (file_ >= 0) unlink(path_.c_str());
  throw UsageError("cannot create the temporary file " + path_ + " (" + reason_of(why) +
                   "): " + (folder == temp_folder() ? "set TMPDIR to a writable directory" : "check this directory"));
}

TempFile::~TempFile() { unlink(path_.c_str()); }

std::string TempFile::text() const {
  std::string text;
  char part[512];
  for (ssize_t n; (n = pread(file_, part, sizeof(part), static_cast<off_t>(text.size()))) > 0;)
    text.append(part, static_cast<size_t>(n));
  return text;
}

bool create_private_file(const fs::path& path, std::string_view text) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file >= 0 && write_and_close(std::move(file), text);
}

bool write_own_file(const fs::path& path, std::string_view text) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  const bool own = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  return own && ftruncate(file, 0) == 0 && write_and_close(std::move(file), text);
}

PrivateFolder::PrivateFolder(fs::path path, Open mode) : path_(std::move(path)) {
  if (mode == Open::create_if_missing) mkdir(path_.c_str(), 0700);
  folder_ = Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  const bool own = fstat(folder_, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0;
  if (!own) folder_.close();
}

bool PrivateFolder::create(const std::string& name) const {
  return exists() && Descriptor(openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) >= 0;
}

void PrivateFolder::remove(const std::string& name) const {
  if (exists()) unlinkat(folder_, name.c_str(), 0);
}

void PrivateFolder::remove_if_empty() const {
  if (exists()) rmdir(path_.c_str());
}

}  // namespace drl

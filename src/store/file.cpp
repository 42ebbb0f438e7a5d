#include "store/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = size_t{1} << 20;  // bytes

std::string reason() { return reason_of(errno); }

[[noreturn]] void cannot(const std::string& what, const fs::path& path) {
  throw Error("cannot " + what + " '" + path.string() + "' (" + reason() +
              "): check free space (df -h, df -i), quota and permissions of its directory");
}

fs::path temporary_name(const fs::path& path) { return path.string() + ".tmp"; }

void write_and_sync(const fs::path& path, std::span<const std::byte> bytes) {
  ::unlink(path.c_str());  // it may be left by a killed process, or be a link of another user
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file < 0) cannot("create", path);
  if (!write_all(file, bytes)) cannot("write", path);
  if (::fsync(file) != 0) cannot("sync", path);
  if (file.close() != 0) cannot("close", path);
}

void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory < 0) cannot("open the directory", folder);
  // EINVAL: this file system cannot sync directories
  if (::fsync(directory) != 0 && errno != EINVAL) cannot("sync the directory", folder);
}

// A file that is read in pieces.
class Input {
 public:
  explicit Input(const fs::path& path) : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status;
    if (file_ < 0 || ::fstat(file_, &status) != 0) fail();
    size_ = static_cast<size_t>(status.st_size);
  }
  size_t size() const { return size_; }
  // Fills `to` and returns its size, or the smaller number of bytes up to the end of the file.
  size_t read(std::span<std::byte> to) {
    size_t done = 0;
    while (done < to.size()) {
      const ssize_t n = ::read(file_, to.data() + done, to.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail();
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

 private:
  [[noreturn]] void fail() const {
    throw UsageError("cannot read '" + path_.string() + "' (" + reason() + "): check the path and its permissions");
  }

  fs::path path_;
  Descriptor file_;
  size_t size_;
};

// Returns true if the file holds exactly `bytes`. Reads it in pieces to save memory.
bool reads_back(const fs::path& path, std::span<const std::byte> bytes) {
  Input file(path);
  std::vector<std::byte> piece(std::min(bytes.size(), kPiece));
  for (size_t at = 0; at < bytes.size(); at += piece.size()) {
    const auto expected = bytes.subspan(at, std::min(piece.size(), bytes.size() - at));
    piece.resize(file.read(std::span(piece).first(expected.size())));
    if (!std::ranges::equal(piece, expected)) return false;
  }
  return file.size() == bytes.size();
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path) {
  Input file(path);
  std::vector<std::byte> bytes(file.size());
  bytes.resize(file.read(bytes));  // the file may have become shorter meanwhile
  return bytes;
}

std::string read_text(const fs::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_output(const std::string& option, const fs::path& path) {
  const auto refuse = [&](const std::string& why, const std::string& what = "give the name of a file") {
    throw UsageError("--" + option + (path.empty() ? "" : " " + printable(path.string(), 200)) + " " + why + ": " +
                     what);
  };
  std::error_code error;
  if (path.empty()) refuse("is empty");
  if (path == kStandardOutput) refuse("means standard output, which cannot hold this file");
  // The file is written under a longer name first (write_file_atomically).
  if (fs::status(temporary_name(path), error).type() == fs::file_type::none)
    refuse("cannot be used (" + error.message() + ")", "give another file");
  if (fs::is_directory(path, error)) refuse("is a directory");
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) refuse("is a device, a pipe or a socket");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!fs::is_directory(folder, error))
    refuse("would be in a directory that does not exist", "create the directory first");
  if (::access(folder.c_str(), W_OK) != 0) refuse("cannot be written (" + reason() + ")", "give another file");
}

void require_different(const std::vector<std::pair<std::string, fs::path>>& files) {
  std::map<fs::path, std::string> options;
  for (const auto& [option, path] : files) {
    if (path.empty()) continue;
    std::error_code failed;  // such as a name that is too long, which require_output() refuses
    const fs::path same = fs::weakly_canonical(path, failed);
    if (const auto [first, is_new] = options.emplace(failed ? path : same, option); !is_new)
      throw UsageError("--" + first->second + " and --" + option +
                       " name the same file (one would overwrite the other): give two names");
  }
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  const fs::path temporary = temporary_name(path);
  try {
    write_and_sync(temporary, bytes);
    if (!reads_back(temporary, bytes))
      throw Error("'" + temporary.string() +
                  "' has changed since it was written (by a faulty disk or driver): write to another " + "file system");
    if (::rename(temporary.c_str(), path.c_str()) != 0) cannot("rename the finished file to", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder_of(path);
}

AppendFile::AppendFile(fs::path path, Start start) : path_(std::move(path)) {
  const int how = start == Start::create ? O_CREAT | O_EXCL : 0;
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | how, 0666));
  if (file_ < 0) cannot("open", path_);
}

void AppendFile::flush() {
  if (unwritten_.empty()) return;
  const off_t size = ::lseek(file_, 0, SEEK_END);
  if (size >= 0 && write_all(file_, bytes_of(unwritten_))) return unwritten_.clear();
  const int failure = errno;
  if (size >= 0 && ::ftruncate(file_, size) != 0) cannot("remove an unfinished record from", path_);
  errno = failure;
  cannot("append to", path_);
}

void AppendFile::sync() {
  flush();
  if (::fdatasync(file_) != 0) cannot("sync", path_);
}

}  // namespace drl

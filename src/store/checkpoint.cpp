#include "store/checkpoint.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "store/crc32c.hpp"
#include "store/file.hpp"
#include "store/hdf5_image.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr int kVersion = 1;
constexpr char kCheckpointFormat[] = "drl-checkpoint";
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";

// Returns the text of the user block, padded with zeros to kUserBlock bytes.
std::string make_header(const std::string& format, std::span<const std::byte> hdf5) {
  std::string text = fmt::format("{} {}\nbytes {}\ncrc32c {:08x}\n", format, kVersion, hdf5.size(), crc32c(hdf5));
  DRL_CHECK(text.size() < kUserBlock, "the name of a file format is too long");
  text.resize(kUserBlock, '\0');
  return text;
}

bool has_text_at(std::span<const std::byte> bytes, size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() && std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& problem, const std::string& remedy) {
  throw UsageError("'" + path.string() + "' " + problem + ": " + remedy);
}

[[noreturn]] void refuse_foreign(const fs::path& path, std::span<const std::byte> bytes, const std::string& format) {
  const std::string remedy = "give a " + format + " file";
  if (bytes.empty()) refuse(path, "is empty (0 bytes)", remedy);
  if (has_text_at(bytes, 0, "drl-")) {  // the name of another format, and a space
    const std::string text(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), kUserBlock));
    refuse(path, "is not a " + format + " (it is a " + printable(text.substr(0, text.find(' '))) + ")", remedy);
  }
  if (has_text_at(bytes, 0, kHdf5Signature) || has_text_at(bytes, kUserBlock, kHdf5Signature)) {
    refuse(path, "is not a " + format + " (it is HDF5 without drl's header)", remedy);
  }
  refuse(path, "is not an HDF5 file (its signature is missing)", remedy);
}

// Throws UsageError unless the file has the header of `format` and its checksum matches.
void check_header(const fs::path& path, std::span<const std::byte> bytes, const std::string& format) {
  if (!has_text_at(bytes, 0, format + " ")) refuse_foreign(path, bytes, format);
  const std::string another = "use another file; this one cannot be trusted";
  if (bytes.size() < kUserBlock) refuse(path, fmt::format("is truncated ({} bytes)", bytes.size()), another);
  const std::string found(reinterpret_cast<const char*>(bytes.data()), kUserBlock);
  int version = 0;
  size_t size = 0;
  if (std::sscanf(found.c_str() + format.size(), " %d bytes %zu", &version, &size) != 2) {
    refuse(path, "is damaged (its header is unreadable)", another);
  }
  if (version != kVersion) {
    refuse(path, fmt::format("has format version {} (this program reads {})", version, kVersion),
           "read it with the version of drl that wrote it");
  }
  const size_t present = bytes.size() - kUserBlock;
  if (present < size) {
    refuse(path, fmt::format("is truncated ({} of {} bytes)", present, size), another);
  }
  if (found != make_header(format, bytes.subspan(kUserBlock))) {
    refuse(path, "is damaged (its checksum does not match its content)", another);
  }
}

std::map<std::string, Attribute> with_format(std::map<std::string, Attribute> attributes, const std::string& format) {
  attributes["format"] = format;
  attributes["format_version"] = int64_t{kVersion};
  return attributes;
}

FileImage image_with_header(const std::string& format, const Checkpoint& content) {
  FileImage file = to_hdf5(with_format(content.attributes, format), content.tensors);
  std::ranges::copy(bytes_of(make_header(format, file.bytes().subspan(kUserBlock))), file.bytes().begin());
  return file;
}

}  // namespace

std::string text_or_empty(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.attributes.find(name);
  const auto* text = found == checkpoint.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

const Tensor* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

void write_arrays(const fs::path& path, const std::string& format, const Checkpoint& content) {
  const FileImage file = image_with_header(format, content);
  if (!has_same_tensors(file.bytes(), content.tensors))
    throw Error("HDF5 did not read back what it had written (names or values differ): install another version of HDF5");
  write_file_atomically(path, file.bytes());
}

Checkpoint read_arrays(const fs::path& path, const std::string& format) {
  const Bytes file = read_file(path);
  check_header(path, file, format);
  try {
    return from_hdf5(file);
  } catch (const Error& error) {  // intact, but made by another program or version
    throw UsageError("'" + path.string() + "': " + error.what());
  }
}

std::vector<ArrayPlace> find_arrays(const fs::path& path, std::span<const std::byte> file, const std::string& format,
                                    std::map<std::string, Attribute>& attributes) {
  check_header(path, file, format);
  try {
    return places_in_hdf5(file, attributes);
  } catch (const Error& error) {
    throw UsageError("'" + path.string() + "': " + error.what());
  }
}

void write_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  write_arrays(path, kCheckpointFormat, checkpoint);
}

Checkpoint read_checkpoint(const fs::path& path) { return read_arrays(path, kCheckpointFormat); }

CheckpointSize verify_arrays(const fs::path& path) {
  constexpr size_t longest = 32;
  const Bytes file = read_file(path);
  std::string format(reinterpret_cast<const char*>(file.data()), std::min(file.size(), longest));
  format = format.substr(0, format.find(' '));
  if (!format.starts_with("drl-") || format.size() == longest) format = kCheckpointFormat;
  std::map<std::string, Attribute> attributes;
  const size_t arrays = find_arrays(path, file, format, attributes).size();
  const auto named = attributes.find("format");  // the checksum does not cover the name in the header
  if (named == attributes.end() || named->second != Attribute(format))
    refuse(path, "is damaged (its header names another format than its content)", "use another file");
  return {format, arrays, file.size()};
}

}  // namespace drl

// Stores named arrays and attributes in a crash-safe HDF5 file, without knowing what the arrays mean.
//
// The file is plain HDF5 after a user block of 512 bytes, which is a text header:
//     drl-checkpoint 1
//     bytes 14048
//     crc32c 0a1b2c3d
// The CRC covers every byte of the HDF5 part: datasets, attributes and HDF5's own structures. It is checked before HDF5
// reads the file, because some damaged files crash HDF5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "device/state.hpp"

namespace drl {

// A row-major array. `name` is a path ("policy/actor/0/weight"). An empty shape means a scalar. Extents may be 0.
struct Tensor {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // product(shape) * size_of(type) bytes

  bool operator==(const Tensor&) const = default;
};

using Attribute = std::variant<int64_t, double, std::string>;

struct Checkpoint {
  std::map<std::string, Attribute> attributes;  // of the file, or of a group that has tensors: "policy/activation"
  std::vector<Tensor> tensors;

  // Returns the tensor of that name, or null.
  const Tensor* find(std::string_view name) const;
};

// Returns an attribute of the checkpoint that was read from `file`. Throws UsageError if it is missing or has another
// type.
template <class T>
const T& attribute(const Checkpoint& checkpoint, const std::string& file, const std::string& name) {
  const auto found = checkpoint.attributes.find(name);
  const T* value = found == checkpoint.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr)
    throw UsageError("checkpoint " + file + " has no attribute \"" + name +
                     "\" (it was not made by drl_train, or was changed since): give another file");
  return *value;
}

// Returns the text of an attribute, or "" if the checkpoint has no such text.
std::string text_or_empty(const Checkpoint& checkpoint, const std::string& name);

// Writes the checkpoint with write_file_atomically (store/file.hpp), after verifying that HDF5 reads back the same
// tensors. Adds the attributes `format` and `format_version`. Equal content gives equal bytes, because the time stamps
// of HDF5 are turned off. Throws Error with the reason of the system or HDF5; the previous file is then untouched, and
// no temporary file is left.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// Reads the whole file and verifies its checksum. Tensors are sorted by name. Throws UsageError, of one line, if the
// file is missing, not HDF5, not a drl checkpoint, of another format version, truncated or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// Write and read another kind of file in the same way. `format` is its name in the header and the attribute `format`.
void write_arrays(const std::filesystem::path& path, const std::string& format, const Checkpoint& content);
Checkpoint read_arrays(const std::filesystem::path& path, const std::string& format);

// The amount of data that was verified.
struct CheckpointSize {
  std::string format;  // "drl-checkpoint"
  size_t tensors = 0;
  size_t bytes = 0;  // size of the file
};

// Verifies the checksum of a file in any of drl's formats. Throws as read_arrays does.
CheckpointSize verify_arrays(const std::filesystem::path& path);

}  // namespace drl

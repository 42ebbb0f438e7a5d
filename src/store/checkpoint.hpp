// Named arrays and attributes in a crash-safe HDF5 file. Knows nothing of what the arrays mean.
//
// The file is plain HDF5 behind a user block of 512 bytes, a text that seals it:
//     drl-checkpoint 1
//     bytes 14048
//     crc32c 0a1b2c3d
// The CRC covers every byte of the HDF5 part: datasets, attributes and HDF5's own structures. It is checked before HDF5
// sees the file, because HDF5 does not survive every damaged file.
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

// An array, row-major. `name` is a path ("policy/actor/0/weight"); an empty shape is one scalar; extents may be 0.
struct Tensor {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // product(shape) * size_of(type) bytes

  bool operator==(const Tensor&) const = default;
};

using Attribute = std::variant<int64_t, double, std::string>;

struct Checkpoint {
  std::map<std::string, Attribute> attributes;
  std::vector<Tensor> tensors;

  // Null if there is none of that name.
  const Tensor* find(std::string_view name) const;
};

// The attribute of that name in what was read from `file`. Throws UsageError if it is not there, or of another type.
template <class T>
const T& attribute(const Checkpoint& checkpoint, const std::string& file, const std::string& name) {
  const auto found = checkpoint.attributes.find(name);
  const T* value = found == checkpoint.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr)
    throw UsageError("checkpoint " + file + " has no attribute \"" + name +
                     "\" (it was not made by drl_train, or changed since): name another file");
  return *value;
}

// Writes `path` as write_file_atomically does (store/file.hpp), having read the HDF5 image back and compared it. Adds
// the attributes `format` and `format_version`. Equal content gives equal bytes: nothing but attributes may hold the
// time. Throws Error with the system's or HDF5's reason; the previous file is untouched then, and no temporary is left.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// Everything in the file, tensors sorted by name, its checksum verified. Throws UsageError, one line, if the file is
// missing, not HDF5, not a drl checkpoint, of a newer format, truncated or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// The same for another kind of file: `format` stands in the seal and in the attribute `format`.
void write_arrays(const std::filesystem::path& path, const std::string& format, const Checkpoint& content);
Checkpoint read_arrays(const std::filesystem::path& path, const std::string& format);

// What was verified.
struct CheckpointSize {
  size_t tensors = 0;
  size_t bytes = 0;  // of the file
};

// Verifies the checksum. Throws what read_checkpoint throws.
CheckpointSize verify_checkpoint(const std::filesystem::path& path);

}  // namespace drl

// Converts HDF5 files to and from bytes in memory. store/file.hpp reads and writes the disk, because HDF5 neither syncs
// nor recovers from a full disk.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/checkpoint.hpp"

namespace drl {

constexpr size_t kUserBlock = 512;  // bytes before the HDF5 part; must be 512 or a larger power of two

// A whole file in memory. HDF5 hands over its buffer, and reads in place: a state may need much of the memory, so it
// must not be copied.
struct FileImage {
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data;
  size_t size = 0;

  std::span<std::byte> bytes() const { return {data.get(), size}; }
};

// Returns an HDF5 file. The caller fills the first kUserBlock bytes. Throws Error with HDF5's reason.
FileImage to_hdf5(const std::map<std::string, Attribute>& attributes, const std::vector<Tensor>& tensors);

// Reads an HDF5 file, including its user block. Tensors are sorted by name. Throws Error with HDF5's reason.
Checkpoint from_hdf5(std::span<const std::byte> file);

// The place of an array in a file.
struct ArrayPlace {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  size_t offset, bytes;  // from the begin of the file; little-endian numbers
};

// Returns the places of all arrays of an HDF5 file, and its attributes. Throws Error with HDF5's reason.
std::vector<ArrayPlace> places_in_hdf5(std::span<const std::byte> file, std::map<std::string, Attribute>& attributes);

// Returns true if `file` contains exactly these tensors, in any order. Needs memory for only one tensor at a time.
bool has_same_tensors(std::span<const std::byte> file, const std::vector<Tensor>& tensors);

// Does the same for the content of the file `path`, and checks its header first. Throws as read_arrays() does.
std::vector<ArrayPlace> find_arrays(const std::filesystem::path& path, std::span<const std::byte> file,
                                    const std::string& format, std::map<std::string, Attribute>& attributes);

// Returns the version of the loaded HDF5 library, "1.10.8".
std::string hdf5_version();

}  // namespace drl

// HDF5 files as bytes in memory. Reading and writing the disk stays ours (store/file.hpp): HDF5 neither syncs nor
// recovers from a full disk.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "store/checkpoint.hpp"

namespace drl {

constexpr size_t kUserBlock = 512;  // bytes before the HDF5 part; HDF5 allows 512 and larger powers of two

// A whole file. State may be much of the memory: HDF5 hands over what it wrote, and reads where the bytes lie.
struct FileImage {
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data;
  size_t size = 0;

  std::span<std::byte> bytes() const { return {data.get(), size}; }
};

// A file whose first kUserBlock bytes are the caller's to fill. Throws Error with HDF5's reason.
FileImage to_hdf5(const std::map<std::string, Attribute>& attributes, const std::vector<Tensor>& tensors);

// `file` with its user block. Tensors come sorted by name. Throws Error with HDF5's reason.
Checkpoint from_hdf5(std::span<const std::byte> file);

// Does HDF5 read these tensors, in any order, and no others from `file`? Holds one of them at a time.
bool holds(std::span<const std::byte> file, const std::vector<Tensor>& tensors);

// Of the library that runs, "1.10.8".
std::string hdf5_version();

}  // namespace drl

// HDF5 files as bytes in memory. Reading and writing the disk stays ours (store/file.hpp): HDF5 neither syncs nor
// recovers from a full disk.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "store/checkpoint.hpp"

namespace drl {

constexpr size_t kUserBlock = 512;  // bytes before the HDF5 part; HDF5 allows 512 and larger powers of two

// The HDF5 part of a file whose first kUserBlock bytes the caller adds. Throws Error with HDF5's reason.
std::vector<std::byte> to_hdf5(const Checkpoint& content);

// `file` with its user block. Tensors come sorted by name. Throws Error with HDF5's reason.
Checkpoint from_hdf5(std::span<const std::byte> file);

// Of the library that runs, "1.10.8".
std::string hdf5_version();

}  // namespace drl

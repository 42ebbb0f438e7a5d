// Maps an HDF5 file of drl into memory, read-only. All processes of a node that map the same file share its memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/checkpoint.hpp"

namespace drl {

// An array in the mapped file, whose numbers are row-major.
struct MappedArray {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  const void* data;
  size_t bytes;
};

class MappedArrays {
 public:
  // Maps a file that write_arrays() made, and verifies its checksum. Throws as read_arrays() does.
  MappedArrays(const std::filesystem::path& path, const std::string& format);
  ~MappedArrays();
  MappedArrays(MappedArrays&& other) noexcept
      : arrays_(std::move(other.arrays_)),
        attributes_(std::move(other.attributes_)),
        file_(std::exchange(other.file_, nullptr)),
        size_(other.size_) {}
  MappedArrays& operator=(MappedArrays&&) = delete;

  // Returns the array of that name, or null.
  const MappedArray* find(std::string_view name) const;
  const std::map<std::string, Attribute>& attributes() const { return attributes_; }

 private:
  std::vector<MappedArray> arrays_;
  std::map<std::string, Attribute> attributes_;
  void* file_ = nullptr;
  size_t size_ = 0;
};

}  // namespace drl

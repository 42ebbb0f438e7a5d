#include "store/mapped_arrays.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/descriptor.hpp"
#include "store/hdf5_image.hpp"

namespace drl {

MappedArrays::MappedArrays(const std::filesystem::path& path, const std::string& format) {
  const auto fail = [&] {
    throw UsageError("'" + path.string() + "' cannot be read (" + std::strerror(errno) + "): check its path");
  };
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts;
  if (descriptor < 0 || ::fstat(descriptor, &facts) != 0) fail();
  if (!S_ISREG(facts.st_mode)) throw UsageError("'" + path.string() + "' is not a file: give a " + format + " file");
  size_ = static_cast<size_t>(facts.st_size);
  if (size_ > 0) {
    void* file = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    if (file == MAP_FAILED) fail();
    file_ = file;
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(file_), size_);
  for (ArrayPlace& place : find_arrays(path, bytes, format, attributes_))
    arrays_.push_back({std::move(place.name), place.type, std::move(place.shape),
                       place.bytes > 0 ? bytes.data() + place.offset : nullptr, place.bytes});
}

MappedArrays::~MappedArrays() {
  if (file_) ::munmap(file_, size_);
}

const MappedArray* MappedArrays::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays_, name, &MappedArray::name);
  return found == arrays_.end() ? nullptr : &*found;
}

}  // namespace drl

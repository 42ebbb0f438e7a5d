// Reads NumPy's .npz files: a zip archive of .npy files (numpy.savez, without compression).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drl {

struct NpzArray {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> numbers;  // row-major
};

// Returns the arrays with these names. Throws UsageError if the file is not such an archive, lacks one of them, or has
// numbers of another kind than float32, float64, int32 and int64 in C order.
std::vector<NpzArray> read_npz_arrays(const std::string& path, const std::vector<std::string>& names);

}  // namespace drl

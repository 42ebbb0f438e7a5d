// Reads NumPy's .npz files: a zip archive of .npy files (numpy.savez, without compression).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "motion/input.hpp"

namespace drl {

struct NpzArray {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> numbers;  // row-major
};

// An archive in memory. Its functions throw UsageError, which begins with the words of InputWords and the path.
class NpzFile {
 public:
  // Throws if the file cannot be read or is not such an archive.
  NpzFile(const std::string& path, const InputWords& words);

  // Returns the names of all arrays, in the order in which they were written.
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const;
  // Returns an array of float32, float64, int32 or int64 in C order. Throws if there is none.
  NpzArray array(const std::string& name) const;
  // Returns the text of a scalar array of type str. Throws if there is none.
  std::string text(const std::string& name) const;
  // Returns the texts of an array of type str.
  std::vector<std::string> texts(const std::string& name) const;
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

 private:
  using Bytes = std::span<const std::byte>;
  struct Entry {
    uint64_t offset, size, stored;
    uint16_t method;
  };
  struct Npy {
    std::string type;
    std::vector<int64_t> shape;
    uint64_t count;  // of elements
    Bytes data;
  };
  [[noreturn]] void fail_damaged() const;
  Bytes part(uint64_t at, uint64_t size) const;
  template <class T>
  T number(uint64_t at) const;
  void list();
  void list_from(uint64_t at, int count);
  Bytes content(const Entry& entry) const;
  Npy npy(const std::string& name) const;

  std::string path_;
  InputWords words_;
  std::vector<std::byte> file_;
  std::vector<std::string> names_;
  std::vector<Entry> entries_;  // [names]
};

}  // namespace drl

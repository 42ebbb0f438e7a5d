// The formats are described in PKWARE's APPNOTE.TXT (zip) and in NumPy's documentation, numpy.lib.format (npy).
#include "motion/npz.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "base/check.hpp"
#include "base/text.hpp"
#include "motion/input.hpp"

namespace drl {
namespace {

using Bytes = std::span<const std::byte>;

class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path), file_(read_input(path)) { list(); }

  NpzArray array(const std::string& name) const {
    const auto found = std::ranges::find(entries_, name + ".npy", &Entry::name);
    if (found == entries_.end()) {
      std::vector<std::string> names;
      for (const Entry& entry : entries_) names.push_back(entry.name.substr(0, entry.name.rfind(".npy")));
      const std::string near = nearest(name, names);
      fail("has no array '" + name + "'" + (near.empty() ? "" : ", only for example '" + printable(near) + "'"),
           "give a file that mjlab's csv_to_npz has made");
    }
    return parse(name, content(*found));
  }

 private:
  struct Entry {
    std::string name;
    uint64_t offset, size, stored;
    uint16_t method;
  };

  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const {
    throw UsageError("motion " + path_ + " " + problem + ": " + remedy);
  }
  [[noreturn]] void fail_damaged() const { fail("is damaged (its zip archive is inconsistent)", "make it again"); }
  Bytes part(uint64_t at, uint64_t size) const {
    if (at > file_.size() || size > file_.size() - at) fail_damaged();
    return Bytes(file_).subspan(at, size);
  }
  template <class T>
  T number(uint64_t at) const {
    T value;
    std::memcpy(&value, part(at, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string text(uint64_t at, uint64_t size) const {
    const Bytes bytes = part(at, size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Lists the entries of the central directory, whose end record is at the end of the file, before a comment.
  void list() {
    constexpr uint64_t kEnd = 22, kLongestComment = 65535;
    for (uint64_t before = kEnd; before <= std::min<uint64_t>(file_.size(), kEnd + kLongestComment); ++before)
      if (const uint64_t at = file_.size() - before; number<uint32_t>(at) == 0x06054b50)
        return list_from(number<uint32_t>(at + 16), number<uint16_t>(at + 10));
    fail("is not an .npz file (it has no zip directory)", "give a file that numpy.savez has made");
  }
  void list_from(uint64_t at, int count) {
    for (int k = 0; k < count; ++k) {
      if (number<uint32_t>(at) != 0x02014b50) fail_damaged();
      const uint64_t name = number<uint16_t>(at + 28), extra = number<uint16_t>(at + 30),
                     comment = number<uint16_t>(at + 32);
      entries_.push_back({text(at + 46, name), number<uint32_t>(at + 42), number<uint32_t>(at + 24),
                          number<uint32_t>(at + 20), number<uint16_t>(at + 10)});
      at += 46 + name + extra + comment;
    }
  }
  Bytes content(const Entry& entry) const {
    if (entry.method != 0) fail("is compressed (made by numpy.savez_compressed)", "make it with numpy.savez");
    if (entry.size != entry.stored || number<uint32_t>(entry.offset) != 0x04034b50) fail_damaged();
    const uint64_t name = number<uint16_t>(entry.offset + 26), extra = number<uint16_t>(entry.offset + 28);
    return part(entry.offset + 30 + name + extra, entry.size);
  }

  NpzArray parse(const std::string& name, Bytes npy) const {
    constexpr std::string_view kMagic = "\x93NUMPY";
    const auto damaged = [&] { fail("has a damaged array '" + name + "'", "make it again"); };
    const std::string_view all(reinterpret_cast<const char*>(npy.data()), npy.size());
    if (all.size() < 12 || !all.starts_with(kMagic)) damaged();
    const bool is_long = all[6] > 1;
    const size_t begin = is_long ? 12 : 10;
    uint32_t length = 0;
    std::memcpy(&length, all.data() + 8, is_long ? 4 : 2);
    if (length > all.size() - begin) damaged();
    const std::string_view header = all.substr(begin, length);
    NpzArray array{name, shape(header), {}};
    const std::string type = value_of(header, "descr");
    if (value_of(header, "fortran_order") != "False")
      fail("has an array '" + name + "' in Fortran order", "convert it by numpy.ascontiguousarray");
    uint64_t count = 1;
    for (const int64_t extent : array.shape) {
      if (extent < 0 || (extent > 0 && count > all.size() / static_cast<uint64_t>(extent))) damaged();
      count *= static_cast<uint64_t>(extent);
    }
    const Bytes data = npy.subspan(begin + length);
    if (!(take<float>(array, type, "<f4", count, data) || take<double>(array, type, "<f8", count, data) ||
          take<int32_t>(array, type, "<i4", count, data) || take<int64_t>(array, type, "<i8", count, data)))
      fail("has an array '" + name + "' of type " + printable(type) + ", or of another size than its shape",
           "convert it to float32");
    return array;
  }
  template <class T>
  static bool take(NpzArray& array, const std::string& type, std::string_view wanted, uint64_t count, Bytes data) {
    if (type != wanted || count != data.size() / sizeof(T) || data.size() % sizeof(T) != 0) return false;
    std::vector<T> numbers(count);
    if (count > 0) std::memcpy(numbers.data(), data.data(), data.size());
    array.numbers.assign(numbers.begin(), numbers.end());
    return true;
  }
  // Returns the value of a key in a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 29), },
  // without quotes; "" if there is none.
  static std::string value_of(std::string_view header, const std::string& key) {
    const size_t at = header.find("'" + key + "':");
    if (at == std::string_view::npos) return "";
    std::string_view rest = trim(header.substr(at + key.size() + 3));
    return std::string(rest.starts_with('\'') ? rest.substr(1, rest.find('\'', 1) - 1)
                                              : rest.substr(0, rest.find_first_of(",}")));
  }
  static std::vector<int64_t> shape(std::string_view header) {
    const size_t open = header.find('(', std::min(header.find("'shape':"), header.size())),
                 close = header.find(')', std::min(open, header.size()));
    std::vector<int64_t> extents;
    if (open == std::string_view::npos || close == std::string_view::npos) return {-1};
    for (const std::string& part : split(header.substr(open + 1, close - open - 1), ','))
      if (!trim(part).empty()) extents.push_back(number_in<int64_t>(trim(part)).value_or(-1));
    return extents;
  }

  std::string path_;
  std::vector<std::byte> file_;
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<NpzArray> read_npz_arrays(const std::string& path, const std::vector<std::string>& names) {
  const Archive archive(path);
  std::vector<NpzArray> arrays;
  for (const std::string& name : names) arrays.push_back(archive.array(name));
  return arrays;
}

}  // namespace drl

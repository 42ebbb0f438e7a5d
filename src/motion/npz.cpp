// The formats are described in PKWARE's APPNOTE.TXT (zip) and in NumPy's documentation, numpy.lib.format (npy).
#include "motion/npz.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "motion/input.hpp"

namespace drl {
namespace {

// Returns the value of a key in a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 29), }, without
// quotes; "" if there is none.
std::string value_of(std::string_view header, const std::string& key) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return "";
  std::string_view rest = trim(header.substr(at + key.size() + 3));
  return std::string(rest.starts_with('\'') ? rest.substr(1, rest.find('\'', 1) - 1)
                                            : rest.substr(0, rest.find_first_of(",}")));
}
std::vector<int64_t> shape_in(std::string_view header) {
  const size_t open = header.find('(', std::min(header.find("'shape':"), header.size())),
               close = header.find(')', std::min(open, header.size()));
  std::vector<int64_t> extents;
  if (open == std::string_view::npos || close == std::string_view::npos) return {-1};
  for (const std::string& part : split(header.substr(open + 1, close - open - 1), ','))
    if (!trim(part).empty()) extents.push_back(number_in<int64_t>(trim(part)).value_or(-1));
  return extents;
}
template <class T>
bool take(NpzArray& array, const std::string& type, std::string_view wanted, uint64_t count,
          std::span<const std::byte> data) {
  if (type != wanted || count != data.size() / sizeof(T) || data.size() % sizeof(T) != 0) return false;
  array.numbers = numbers<T, double>(data);
  return true;
}

}  // namespace

NpzFile::NpzFile(const std::string& path, const InputWords& words)
    : path_(path), words_(words), file_(read_input(path, words)) {
  list();
}

void NpzFile::fail(const std::string& problem, const std::string& remedy) const {
  throw UsageError(std::string(words_.what) + " " + path_ + " " + problem + ": " + remedy);
}
void NpzFile::fail_damaged() const { fail("is damaged (its zip archive is inconsistent)", "make it again"); }

NpzFile::Bytes NpzFile::part(uint64_t at, uint64_t size) const {
  if (at > file_.size() || size > file_.size() - at) fail_damaged();
  return Bytes(file_).subspan(at, size);
}
template <class T>
T NpzFile::number(uint64_t at) const {
  return number_at<T>(part(at, sizeof(T)).data());
}

// Lists the entries of the central directory, whose end record is at the end of the file, before a comment.
void NpzFile::list() {
  constexpr uint64_t kEnd = 22, kLongestComment = 65535;
  for (uint64_t before = kEnd; before <= std::min<uint64_t>(file_.size(), kEnd + kLongestComment); ++before)
    if (const uint64_t at = file_.size() - before; number<uint32_t>(at) == 0x06054b50)
      return list_from(number<uint32_t>(at + 16), number<uint16_t>(at + 10));
  fail("is not an .npz file (it has no zip directory)", "give a file that numpy.savez has made");
}
void NpzFile::list_from(uint64_t at, int count) {
  constexpr std::string_view kEnding = ".npy";
  for (int k = 0; k < count; ++k) {
    if (number<uint32_t>(at) != 0x02014b50) fail_damaged();
    const uint64_t length = number<uint16_t>(at + 28), extra = number<uint16_t>(at + 30),
                   comment = number<uint16_t>(at + 32);
    const Bytes bytes = part(at + 46, length);
    const std::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    names_.emplace_back(name.ends_with(kEnding) ? name.substr(0, name.size() - kEnding.size()) : name);
    entries_.push_back(
        {number<uint32_t>(at + 42), number<uint32_t>(at + 24), number<uint32_t>(at + 20), number<uint16_t>(at + 10)});
    at += 46 + length + extra + comment;
  }
}
NpzFile::Bytes NpzFile::content(const Entry& entry) const {
  if (entry.method != 0) fail("is compressed (made by numpy.savez_compressed)", "make it with numpy.savez");
  if (entry.size != entry.stored || number<uint32_t>(entry.offset) != 0x04034b50) fail_damaged();
  const uint64_t name = number<uint16_t>(entry.offset + 26), extra = number<uint16_t>(entry.offset + 28);
  return part(entry.offset + 30 + name + extra, entry.size);
}

bool NpzFile::has(const std::string& name) const { return std::ranges::find(names_, name) != names_.end(); }

NpzFile::Npy NpzFile::npy(const std::string& name) const {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    const std::string near = nearest(name, names_);
    fail("has no array '" + name + "'" + (near.empty() ? "" : ", only for example '" + printable(near) + "'"),
         words_.remedy);
  }
  const auto damaged = [&] { fail("has a damaged array '" + name + "'", "make it again"); };
  const Bytes file = content(entries_[found - names_.begin()]);
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (all.size() < 12 || !all.starts_with(kMagic)) damaged();
  const bool is_long = all[6] > 1;
  const size_t begin = is_long ? 12 : 10;
  uint32_t length = 0;
  std::memcpy(&length, all.data() + 8, is_long ? 4 : 2);
  if (length > all.size() - begin) damaged();
  const std::string_view header = all.substr(begin, length);
  Npy npy{
      .type = value_of(header, "descr"), .shape = shape_in(header), .count = 1, .data = file.subspan(begin + length)};
  if (value_of(header, "fortran_order") != "False")
    fail("has an array '" + name + "' in Fortran order", "convert it by numpy.ascontiguousarray");
  for (const int64_t extent : npy.shape) {
    if (extent < 0 || (extent > 0 && npy.count > all.size() / static_cast<uint64_t>(extent))) damaged();
    npy.count *= static_cast<uint64_t>(extent);
  }
  return npy;
}

NpzArray NpzFile::array(const std::string& name) const {
  const Npy npy = this->npy(name);
  NpzArray array{name, npy.shape, {}};
  if (!(take<float>(array, npy.type, "<f4", npy.count, npy.data) ||
        take<double>(array, npy.type, "<f8", npy.count, npy.data) ||
        take<int32_t>(array, npy.type, "<i4", npy.count, npy.data) ||
        take<int64_t>(array, npy.type, "<i8", npy.count, npy.data)))
    fail("has an array '" + name + "' of type " + printable(npy.type) + ", or of another size than its shape",
         "convert it to float32");
  return array;
}

std::string NpzFile::text(const std::string& name) const {
  const std::vector<std::string> all = texts(name);
  if (all.size() != 1) fail("has an array '" + name + "' that is not one text", "give a str to numpy.savez");
  return all[0];
}

std::vector<std::string> NpzFile::texts(const std::string& name) const {
  const Npy npy = this->npy(name);
  const size_t letters = npy.count > 0 ? npy.data.size() / 4 / npy.count : 0;  // of each text
  if (!npy.type.starts_with("<U") || npy.data.size() != 4 * letters * npy.count)
    fail("has an array '" + name + "' that is not of type str", "give a str, or a list of them, to numpy.savez");
  std::vector<std::string> texts(npy.count);
  size_t k = 0;
  for (const uint32_t letter : numbers<uint32_t>(npy.data)) {  // UTF-32, with zeros at the end
    if (letter != 0) texts[k / letters] += letter < 128 ? static_cast<char>(letter) : '?';
    ++k;
  }
  return texts;
}

}  // namespace drl

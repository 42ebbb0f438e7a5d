// Reads the points of PNG pictures with 16 bits, of which libmujoco keeps only 8 (256 heights).
// The formats are described in ISO/IEC 15948 (PNG), RFC 1950 (zlib) and RFC 1951 (deflate).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace drl {

// Decompresses deflate blocks. Throws std::invalid_argument if they are damaged or longer than `most` bytes.
class Inflater {
 public:
  Inflater(std::span<const uint8_t> from, size_t most) : from_(from), most_(most) {}

  std::vector<uint8_t> run() {
    for (bool is_last = false; !is_last;) {
      is_last = bits(1) == 1;
      const uint32_t kind = bits(2);
      if (kind == 0) {
        copy_stored();
      } else if (kind == 1) {
        std::array<uint8_t, 288> lengths;
        for (size_t k = 0; k < lengths.size(); ++k) lengths[k] = k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8;
        inflate(Code(lengths), Code(std::array<uint8_t, 30>{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
                                                            5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}));
      } else if (kind == 2) {
        inflate_dynamic();
      } else {
        fail();
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr int kLongest = 15;  // bits of a code
  [[noreturn]] static void fail() { throw std::invalid_argument("its compressed data is damaged"); }

  // A canonical Huffman code: the number of codes of each length, and the symbols in the order of their codes.
  struct Code {
    explicit Code(std::span<const uint8_t> lengths) : symbols(lengths.size()) {
      for (const uint8_t length : lengths) ++count[length];
      count[0] = 0;
      std::array<size_t, kLongest + 2> first{};
      for (size_t k = 1; k <= kLongest; ++k) first[k + 1] = first[k] + count[k];
      for (size_t s = 0; s < lengths.size(); ++s)
        if (lengths[s] > 0) symbols[first[lengths[s]]++] = static_cast<uint16_t>(s);
    }
    std::array<uint16_t, kLongest + 1> count{};
    std::vector<uint16_t> symbols;
  };

  uint32_t bits(int count) {
    uint32_t value = 0;
    for (int k = 0; k < count; ++k, ++at_) {
      if (at_ / 8 >= from_.size()) fail();
      value |= static_cast<uint32_t>(from_[at_ / 8] >> at_ % 8 & 1) << k;
    }
    return value;
  }
  uint32_t symbol(const Code& code) {
    uint32_t value = 0, first = 0, index = 0;  // of the codes of each length
    for (int length = 1; length <= kLongest; ++length) {
      value = value << 1 | bits(1);
      const uint32_t count = code.count[static_cast<size_t>(length)];
      if (value < first + count) return value < first ? (fail(), 0) : code.symbols[index + value - first];
      index += count, first = (first + count) << 1;
    }
    fail();
  }
  void put(uint8_t byte) {
    if (out_.size() >= most_) fail();
    out_.push_back(byte);
  }
  void copy_stored() {
    at_ = (at_ + 7) / 8 * 8;
    const uint32_t length = bits(16), complement = bits(16);
    if ((length ^ complement) != 0xffff) fail();
    for (uint32_t k = 0; k < length; ++k) put(static_cast<uint8_t>(bits(8)));
  }
  void inflate(const Code& literals, const Code& distances) {
    static constexpr uint16_t kLengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                            31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr uint16_t kDistances[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                              33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                              1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (uint32_t s = symbol(literals); s != 256; s = symbol(literals)) {
      if (s < 256) {
        put(static_cast<uint8_t>(s));
        continue;
      }
      const uint32_t k = s - 257;
      if (k >= std::size(kLengths)) fail();
      const uint32_t length = kLengths[k] + bits(k < 8 || k == 28 ? 0 : static_cast<int>(k / 4 - 1));
      const uint32_t d = symbol(distances);
      if (d >= std::size(kDistances)) fail();
      const size_t back = kDistances[d] + bits(d < 4 ? 0 : static_cast<int>(d / 2 - 1));
      if (back > out_.size()) fail();
      for (uint32_t n = 0; n < length; ++n) put(out_[out_.size() - back]);
    }
  }
  void inflate_dynamic() {
    static constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const size_t literals = bits(5) + 257, distances = bits(5) + 1, given = bits(4) + 4;
    std::array<uint8_t, 19> of_lengths{};
    for (size_t k = 0; k < given; ++k) of_lengths[kOrder[k]] = static_cast<uint8_t>(bits(3));
    const Code code(of_lengths);
    std::vector<uint8_t> lengths;
    while (lengths.size() < literals + distances) {
      const uint32_t s = symbol(code);
      if (s == 16 && lengths.empty()) fail();
      const size_t times = s < 16 ? 1 : s == 16 ? 3 + bits(2) : s == 17 ? 3 + bits(3) : 11 + bits(7);
      lengths.insert(lengths.end(), times, s < 16 ? static_cast<uint8_t>(s) : s == 16 ? lengths.back() : uint8_t{0});
    }
    if (lengths.size() > literals + distances) fail();
    const std::span<const uint8_t> all(lengths);
    inflate(Code(all.first(literals)), Code(all.subspan(literals)));
  }

  std::span<const uint8_t> from_;
  size_t most_, at_ = 0;  // at_: bits that have been read
  std::vector<uint8_t> out_;
};

// Returns the first channel of the points of a PNG file with 16 bits, row by row from the top, or nothing if the file
// is another one. Throws std::invalid_argument if it is damaged, interlaced or has more than `most` points.
inline std::vector<uint16_t> png_points_of_16_bits(std::span<const uint8_t> file, size_t most) {
  constexpr size_t kHeader = 33;  // the signature, and the chunk IHDR
  constexpr std::string_view kBegin("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 16);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (file.size() < kHeader || !text.starts_with(kBegin) || file[24] != 16) return {};
  const auto number = [&](size_t at) {
    return static_cast<size_t>(file[at]) << 24 | static_cast<size_t>(file[at + 1]) << 16 |
           static_cast<size_t>(file[at + 2]) << 8 | file[at + 3];
  };
  const size_t columns = number(16), rows = number(20);
  const size_t channels = file[25] == 0 ? 1 : file[25] == 4 ? 2 : file[25] == 2 ? 3 : 4;
  if (file[28] != 0) throw std::invalid_argument("it has 16 bits and is interlaced: save it without interlacing");
  if (columns == 0 || rows == 0 || columns > most / rows) throw std::invalid_argument("it has no points, or too many");
  std::vector<uint8_t> compressed;
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = number(at);
    if (length > file.size() - at - 12) throw std::invalid_argument("a chunk is cut off");
    if (text.substr(at + 4, 4) == "IDAT")
      compressed.insert(compressed.end(), file.begin() + static_cast<ptrdiff_t>(at + 8),
                        file.begin() + static_cast<ptrdiff_t>(at + 8 + length));
    at += length + 12;
  }
  if (compressed.size() < 2) throw std::invalid_argument("it has no data");
  const size_t step = 2 * channels, width = columns * step;  // bytes of a point and of a row, which a filter precedes
  std::vector<uint8_t> lines = Inflater(std::span(compressed).subspan(2), rows * (width + 1)).run();
  if (lines.size() != rows * (width + 1)) throw std::invalid_argument("its data is too short");
  std::vector<uint16_t> points;
  for (size_t row = 0; row < rows; ++row) {
    uint8_t* line = &lines[row * (width + 1) + 1];
    const uint8_t* above = row > 0 ? line - (width + 1) : nullptr;
    for (size_t k = 0; k < width; ++k) {
      const int a = k >= step ? line[k - step] : 0, b = above ? above[k] : 0,
                c = above && k >= step ? above[k - step] : 0;
      const int to_a = std::abs(b - c), to_b = std::abs(a - c), to_c = std::abs(a + b - 2 * c);
      const int paeth = to_a <= to_b && to_a <= to_c ? a : to_b <= to_c ? b : c;
      const int filters[] = {0, a, b, (a + b) / 2, paeth};
      if (line[-1] > 4) throw std::invalid_argument("a row has an unknown filter");
      line[k] = static_cast<uint8_t>(line[k] + filters[line[-1]]);
    }
    for (size_t k = 0; k < width; k += step) points.push_back(static_cast<uint16_t>(line[k] << 8 | line[k + 1]));
  }
  return points;
}

}  // namespace drl

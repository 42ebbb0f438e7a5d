// Random numbers and random changes of texts. All of them depend on the seed alone.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace drl::faults {

class Random {
 public:
  Random(uint64_t seed, uint64_t index) : engine_(seed * 0x9E3779B97F4A7C15ull + index) {}

  // Returns a number from 0 to n - 1. n must not be 0.
  size_t below(size_t n) { return static_cast<size_t>(engine_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// Values at which programs tend to fail.
inline const std::vector<std::string>& odd_values() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> values = split(
        "| |0|-0|1|-1|2|7|1e-300|1e300|-1e300|1e999|nan|-inf|inf|2147483647|2147483648|-2147483649|"
        "4294967296|9223372036854775807|9223372036854775808|99999999999999999999999999|0x10|1.5.2|true|none|"
        "auto|1,2,3|1 2 3|,,,|a:b:c|../../../etc|~|%s%n%d|{}{0}{:>999999999}|$(id)|\"|\"\\|[|]|=|#|\t|\r|"
        "\x1b[31m",
        '|');
    values.insert(values.end(), {std::string(1, '\0'), "\xef\xbb\xbf", "\xff\xfe", "\xc3\xa4\xe2\x82\xac",
                                 std::string(300, '['), std::string(5000, '9'), std::string(5000, 'z')});
    return values;
  }();
  return all;
}

// Returns a part of `text` of at most `most` characters.
inline std::string part_of(const std::string& text, size_t most, Random& random) {
  if (text.empty()) return "";
  const size_t begin = random.below(text.size());
  return text.substr(begin, 1 + random.below(most));
}

// Replaces one number in `text` by an odd value.
inline void replace_number(std::string& text, Random& random) {
  constexpr const char* kDigits = "+-.0123456789";
  if (text.empty()) return;
  const size_t begin = text.find_first_of(kDigits, random.below(text.size()));
  if (begin == std::string::npos) return;
  const size_t end = text.find_first_not_of(kDigits, begin);
  text.replace(begin, (end == std::string::npos ? text.size() : end) - begin, random.one_of(odd_values()));
}

// Changes `text` one to four times. `other` is another text of the same kind, from which parts are taken.
inline void mutate(std::string& text, const std::string& other, Random& random) {
  for (size_t changes = 1 + random.below(4); changes > 0; --changes) {
    const size_t at = text.empty() ? 0 : random.below(text.size());
    switch (random.below(8)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
        break;
      case 2:
        text.erase(at, 1 + random.below(40));
        break;
      case 3:
        text.insert(at, part_of(other, 200, random));
        break;
      case 4:
        text.insert(at, random.one_of(odd_values()));
        break;
      case 5:
        text.insert(at, part_of(text, 60, random));
        break;
      case 6:
        if (random.one_in(4)) text.resize(at);
        break;
      default:
        replace_number(text, random);
    }
  }
}

}  // namespace drl::faults

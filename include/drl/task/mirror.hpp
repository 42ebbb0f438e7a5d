// Tells how a task's observations and actions look in a mirror, for tasks that are symmetric (--ppo.symmetry, --sac.symmetry).
#pragma once

#include <cstdint>
#include <string>

namespace drl {

// A number of a mirrored observation or action: sign * number `source` of the original.
struct MirroredNumber {
  int32_t source = 0;
  float sign = 1;  // 1 or -1
};

// A signed permutation of N numbers, made at compile time from blocks in the order of the numbers. Mirroring twice must
// change nothing.
template <int N>
struct MirrorTable {
  static constexpr int kNumbers = N;
  MirroredNumber numbers[N] = {};
  int size = 0;  // numbers added so far

  // Adds a number for each sign: '+' for a number that stays as it is, '-' for one that changes its sign.
  constexpr MirrorTable add(const char* signs) const {
    MirrorTable longer = *this;
    for (; *signs; ++signs, ++longer.size) longer.numbers[longer.size] = {longer.size, sign_of(*signs)};
    return longer;
  }
  // Adds a block whose numbers change places among themselves.
  template <int M>
  constexpr MirrorTable add(const MirrorTable<M>& block) const {
    return add(block, "+");
  }
  // Adds M groups of numbers, one number of a group for each sign. The groups change places as the numbers of `groups`.
  template <int M>
  constexpr MirrorTable add(const MirrorTable<M>& groups, const char* signs) const {
    MirrorTable longer = *this;
    int each = 0;
    while (signs[each]) ++each;
    for (const MirroredNumber& group : groups.numbers)
      for (int k = 0; k < each; ++k, ++longer.size)
        longer.numbers[longer.size] = {size + group.source * each + k, group.sign * sign_of(signs[k])};
    return longer;
  }

  // Returns what is wrong with the table of a task with `count` numbers, to be read after the table's name; else "".
  std::string trouble(int count) const {
    if (size != count || N != count)
      return " has " + std::to_string(size) + " numbers, but should have " + std::to_string(count);
    for (int k = 0; k < N; ++k) {
      const auto [source, sign] = numbers[k];
      if (source < 0 || source >= N || numbers[source].source != k || numbers[source].sign != sign)
        return " is no involution (mirrored twice, number " + std::to_string(k) + " is not itself)";
    }
    return "";
  }

 private:
  static constexpr float sign_of(char sign) { return sign == '-' ? -1.0f : 1.0f; }
};

// Returns the table that reverses the order of N numbers.
template <int N>
constexpr MirrorTable<N> reversed_numbers() {
  MirrorTable<N> table;
  for (; table.size < N; ++table.size) table.numbers[table.size].source = N - 1 - table.size;
  return table;
}

}  // namespace drl

// What headers of robots have in common, whoever's tasks they are.
#pragma once

#include <initializer_list>

#include "drl/robot.hpp"

namespace drl::common {

// A task's preset, of parts that the compiler puts together.
class Preset {
 public:
  consteval Preset(std::initializer_list<const char*> parts) {
    for (const char* part : parts)
      for (; *part; ++part) text_[size_++] = *part;
  }
  constexpr operator const char*() const { return text_; }

 private:
  char text_[700] = {};
  int size_ = 0;
};

template <class F>
DRL_HD F square(F x) {
  return x * x;
}

// |x|^2 of `size` numbers.
template <class F>
DRL_HD F squares(const F* x, int size) {
  F sum = F(0);
  for (int k = 0; k < size; ++k) sum = sum + square(x[k]);
  return sum;
}

}  // namespace drl::common

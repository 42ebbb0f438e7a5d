// Types of a task's parameters that are not one number. drl reads them from options, and a task only uses their values.
#pragma once

#include <cstdint>

#include "drl/math.hpp"
#include "drl/task/range.hpp"

namespace drl {

// A parameter that is a list of N numbers, each within the Range: --env.NAME 1,0,0, or none.
template <int N>
struct Numbers {
  float at[N] = {};
  int32_t is_given = 0;  // 0: none
};

// A parameter that is a range: --env.NAME LOW,HIGH, or one number for both, or none.
struct Interval {
  float low = 0, high = 0;
  int32_t is_given = 0;  // 0: none
};

// A parameter that gives N numbers as a function of time, from a text file: --env.NAME FILE, or none. Each line has the
// seconds from which on its numbers are valid, which increase, and the numbers. drl reads the file.
template <int N, int Rows = 32>
struct Schedule {
  float rows[Rows][1 + N] = {};
  int32_t count = 0;  // of rows; 0: none

  // Sets the numbers to those of the last row that begins at or before `seconds`, or to zeros before the first row.
  template <class F>
  DRL_HD void read(F seconds, F (&numbers)[N]) const {
    for (F& number : numbers) number = F(0);
    for (int row = 0; row < count; ++row)
      for (int k = 0; k < N; ++k)
        numbers[k] = math::select(seconds >= F(rows[row][0]), F(rows[row][1 + k]), numbers[k]);
  }
};

}  // namespace drl

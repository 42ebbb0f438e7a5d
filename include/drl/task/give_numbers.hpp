// Copies the numbers of a struct to the same struct of another number type, in the order in which describe visits them.
#pragma once

#include "drl/task/range.hpp"

namespace drl {

struct ReadNumbers {
  double* to;
  template <class... More>
  void operator()(const char*, FileName&, const More&...) {}  // is not a number
  template <class T, class... More>
  void operator()(const char*, T& number, const More&...) {
    *to++ = static_cast<double>(number);
  }
};
struct WriteNumbers {
  const double* from;
  template <class... More>
  void operator()(const char*, FileName&, const More&...) {}
  template <class T, class... More>
  void operator()(const char*, T& number, const More&...) {
    number = static_cast<T>(*from++);
  }
};
template <class From, class To>
void copy_numbers(From from, To& to) {
  double numbers[sizeof(From)];  // an upper bound
  ReadNumbers read{numbers};
  from.describe(read);
  WriteNumbers write{numbers};
  to.describe(write);
}

}  // namespace drl

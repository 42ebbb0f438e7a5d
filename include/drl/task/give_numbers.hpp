// Copies the numbers of a struct to the same struct of another number type, in the order in which describe visits them.
#pragma once

#include <type_traits>

#include "drl/task/param_types.hpp"

namespace drl {

// Calls visit(number) for the numbers of a parameter that is not one number.
template <int N, class Visit>
void each_number_of(Numbers<N>& list, const Visit& visit) {
  for (float& number : list.at) visit(number);
  visit(list.is_given);
}
template <class Visit>
void each_number_of(Interval& range, const Visit& visit) {
  visit(range.low), visit(range.high), visit(range.is_given);
}
template <int N, int Rows, class Visit>
void each_number_of(Schedule<N, Rows>& schedule, const Visit& visit) {
  for (auto& row : schedule.rows)
    for (float& number : row) visit(number);
  visit(schedule.count);
}
template <class Visit>
void each_number_of(FileName&, const Visit&) {}  // has none
template <class Number, class Visit>
requires std::is_arithmetic_v<Number>
void each_number_of(Number& number, const Visit& visit) { visit(number); }

struct ReadNumbers {
  double* to;
  template <class T, class... More>
  void operator()(const char*, T& number, const More&...) {
    each_number_of(number, [this](auto& x) { *to++ = static_cast<double>(x); });
  }
};
struct WriteNumbers {
  const double* from;
  template <class T, class... More>
  void operator()(const char*, T& number, const More&...) {
    each_number_of(number, [this](auto& x) { x = static_cast<std::decay_t<decltype(x)>>(*from++); });
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

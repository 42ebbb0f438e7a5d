// The numbers that a struct's describe names, given to the like struct of another number type.
#pragma once

namespace drl {

struct NoteNumbers {
  double* to;
  template <class T, class... More>
  void operator()(const char*, T& number, const More&...) {
    *to++ = static_cast<double>(number);
  }
};
struct GiveNumbers {
  const double* from;
  template <class T, class... More>
  void operator()(const char*, T& number, const More&...) {
    number = static_cast<T>(*from++);
  }
};
template <class From, class To>
void give_numbers(From from, To& to) {
  double numbers[sizeof(From)];  // more than it has
  NoteNumbers note{numbers};
  from.describe(note);
  GiveNumbers give{numbers};
  to.describe(give);
}

}  // namespace drl

// Shared code of the robots' headers.
#pragma once

#include <initializer_list>

#include "drl/robot.hpp"

namespace drl::common {

// A task's preset, concatenated from parts at compile time. Robots' functions are not consteval, because nvcc 12.4
// would compile calls of them for the GPU, and fail.
class Preset {
 public:
  constexpr Preset(std::initializer_list<const char*> parts) {
    for (const char* part : parts)
      for (; *part; ++part) text_[size_++] = *part;
  }
  constexpr operator const char*() const { return text_; }

 private:
  char text_[700] = {};
  int size_ = 0;
};

constexpr double kPi = 3.141592653589793;

template <class F>
DRL_HD F square(F x) {
  return x * x;
}

// Returns |x|^2 of `size` numbers.
template <class F>
DRL_HD F squares(const F* x, int size) {
  F sum = F(0);
  for (int k = 0; k < size; ++k) sum = sum + square(x[k]);
  return sum;
}
template <class F>
DRL_HD F norm(const F* x, int size) {
  return math::sqrt(squares(x, size));
}
template <class F>
DRL_HD Vec<F, 3> cross(const Vec<F, 3>& a, const Vec<F, 3>& b) {
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}
// Rotates a vector v from world coordinates to the frame of a body with orientation q = (w, u):
// v - 2 w (u x v) + 2 u x (u x v).
template <class F>
DRL_HD Vec<F, 3> in_body_frame(const Vec<F, 4>& q, const Vec<F, 3>& v) {
  const Vec<F, 3> u{{q[1], q[2], q[3]}}, once = cross(u, v), twice = cross(u, once);
  Vec<F, 3> rotated;
  for (int k = 0; k < 3; ++k) rotated[k] = v[k] - F(2) * (q[0] * once[k] - twice[k]);
  return rotated;
}
// Returns the rotation b, followed by a.
template <class F>
DRL_HD Vec<F, 4> product(const Vec<F, 4>& a, const Vec<F, 4>& b) {
  return {{a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
           a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
           a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]}};
}
template <class F>
DRL_HD Vec<F, 4> inverse(const Vec<F, 4>& q) {
  return {{q[0], -q[1], -q[2], -q[3]}};
}
template <class F>
DRL_HD Vec<F, 3> difference(const Vec<F, 3>& a, const Vec<F, 3>& b) {
  return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}};
}
// Returns the heading of a body with orientation q, in rad about the world's z axis.
template <class F>
DRL_HD F heading(const Vec<F, 4>& q) {
  return math::atan2(F(2) * (q[1] * q[2] + q[0] * q[3]), F(1) - F(2) * (square(q[2]) + square(q[3])));
}
// Wraps an angle into [-pi, pi).
template <class F>
DRL_HD F wrapped(F angle) {
  return angle - F(2 * kPi) * math::floor((angle + F(kPi)) / F(2 * kPi));
}

}  // namespace drl::common

// Computes the point at which a tendon touches a circle from inside (MuJoCo, "Computation", spatial tendons).
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns the angle of the vector (x, y) from the x axis, for y >= 0. It is halved three times, so that a short series
// is exact to rounding.
template <class F>
DRL_HD F arc_tangent(F y, F x) {
  constexpr double kPi = 3.14159265358979323846;
  const F along = math::abs(x);
  F t = y / math::max(along + math::sqrt(math::fma(along, along, y * y)), F(1e-30));
  for (int k = 0; k < 3; ++k) t = t / (F(1) + math::sqrt(math::fma(t, t, F(1))));
  const F square = t * t;
  F series = F(0);
  for (int power = 15; power > 0; power -= 2)
    series = math::fma(square, series, F((power % 4 == 1 ? 1.0 : -1.0) / power));
  const F acute = F(16) * (t * series);
  return math::select(x < F(0), F(kPi) - acute, acute);
}

// Returns the sine z of an angle at the circle's centre that solves asin(a z) + asin(b z) - 2 asin(z) + angle = 0,
// where a and b are the circle's radius divided by the distances of the tendon's ends. Newton's method is libmujoco's,
// since it stops at an error of 1e-6 that may be visible.
template <class F>
DRL_HD_CALLED F touching_sine(F a, F b, F angle) {
  constexpr int kIterations = 20;
  constexpr double kTolerance = 1e-6, kStart = 1 - 1e-7, kLeast = 1e-15;
  const auto root = [](F x) DRL_LAMBDA { return math::sqrt(math::max(F(1) - x * x, F(0))); };
  const auto arc_sine = [&](F x) DRL_LAMBDA { return arc_tangent(x, root(x)); };
  const auto error_at = [&](F z) DRL_LAMBDA { return arc_sine(a * z) + arc_sine(b * z) - F(2) * arc_sine(z) + angle; };
  F z = F(kStart), error = error_at(z);
  for (int k = 0; k < kIterations; ++k) {
    const Mask<F> goes_on = F(kTolerance) < math::abs(error);
    if (!any(goes_on)) break;
    const F slope = a / math::max(root(a * z), F(kLeast)) + b / math::max(root(b * z), F(kLeast)) -
                    F(2) / math::max(root(z), F(kLeast));
    z = math::select(goes_on, z - error / math::min(slope, F(-kLeast)), z), error = error_at(z);
  }
  return z;
}
// Returns the angle itself, as MuJoCo since 3.16: the same for the angle, from a right one.
template <class F>
DRL_HD_CALLED F touching_angle(F a, F b, F angle) {
  constexpr int kIterations = 20;
  constexpr double kTolerance = 1e-6, kRight = 1.57079632679489661923, kLeast = 1e-15;
  const auto root = [](F x) DRL_LAMBDA { return math::sqrt(math::max(F(1) - x * x, F(0))); };
  const auto arc_sine = [&](F x) DRL_LAMBDA { return arc_tangent(x, root(x)); };
  F turn = F(kRight), sine = F(1), cosine = F(0), error = arc_sine(a) + arc_sine(b) - F(2) * turn + angle;
  for (int k = 0; k < kIterations; ++k) {
    const Mask<F> goes_on = F(kTolerance) < math::abs(error);
    if (!any(goes_on)) break;
    const F slope = (a / root(a * sine) + b / root(b * sine)) * cosine - F(2);
    turn = math::select(goes_on, turn - error / math::min(slope, F(-kLeast)), turn);
    sine = math::sin(turn), cosine = math::cos(turn);
    error = arc_sine(a * sine) + arc_sine(b * sine) - F(2) * turn + angle;
  }
  return turn;
}

}  // namespace drl::inline DRL_ISA::physics

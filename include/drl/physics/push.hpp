// Pushes on a robot's bodies, whose force, interval and duration an environment draws (--env.dr.push_force).
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl {
inline namespace DRL_ISA {

// A push that an environment's numbers x [3] describe (ModelParameter::push): a horizontal force, which begins every
// x[1] seconds and lasts x[2] seconds, both as whole steps.
template <class F>
struct Push {
  Mask<F> begins, lasts;  // in this step
  // `time` and `dt` are the time since the reset and the duration of a step, in s.
  DRL_HD Push(const F* x, F time, double dt) {
    const F step = math::floor(time * F(1 / dt) + F(0.5));
    const F interval = math::max(F(1), math::floor(x[1] * F(1 / dt) + F(0.5)));
    const F duration = math::floor(x[2] * F(1 / dt) + F(0.5));
    const F since = step - interval * math::floor(step / interval);
    begins = (step >= interval) & (since == F(0));
    lasts = (step >= interval) & (since < duration);
  }
};

}  // namespace DRL_ISA
}  // namespace drl

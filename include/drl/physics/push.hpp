// Pushes on a robot's bodies, whose force, interval and duration an environment draws (--env.dr.push_force).
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/task.hpp"

namespace drl::inline DRL_ISA {

// The numbers of the direction of a body's last push: the force's direction along x and y, and the torque's axis.
constexpr int kPushDirection = 5;
constexpr int kPushDraws = 3;  // uniform numbers that a direction consumes

// A push that an environment's numbers x [3] describe (ModelParameter::push): a horizontal force and a torque, which
// begin every x[1] seconds and last x[2] seconds, both as whole steps.
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
  // Draws a new direction [kPushDirection] if the push begins. All directions are equally likely.
  DRL_HD void draw_direction(Draws<F>& draws, F* direction) const {
    const F angle = draws.uniform(F(0), F(kTurn)), around = draws.uniform(F(0), F(kTurn));
    const F z = draws.uniform(F(-1), F(1)), across = math::sqrt(math::max(F(0), F(1) - z * z));
    const F drawn[kPushDirection] = {math::cos(angle), math::sin(angle), across * math::cos(around),
                                     across * math::sin(around), z};
    for (int k = 0; k < kPushDirection; ++k) direction[k] = math::select(begins, drawn[k], direction[k]);
  }

 private:
  static constexpr double kTurn = 6.283185307179586;
};

}  // namespace drl::inline DRL_ISA

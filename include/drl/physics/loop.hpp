// A function object (drl/lanes/loop.hpp) that steps a batch of environments of one robot. In all arrays, the
// environments' values of one quantity are contiguous.
#pragma once

#include "drl/physics/support.hpp"

namespace drl {

// Robot is the struct at the end of a header that drl_robot writes, such as half_cheetah_robot.
template <class Robot>
struct StepRobots {
  static constexpr int nq = Robot::template Physics<float>::nq, nv = Robot::template Physics<float>::nv;
  static constexpr int nu = Robot::template Physics<float>::nu, nbody = Robot::template Physics<float>::nbody;
  static constexpr int na = Robot::template Physics<float>::kActivations;
  static constexpr int kNumbers = nq + 2 * nv + 1 + na;  // qpos, qvel, warm_start, time, act

  int64_t n;
  int frame_skip;
  float* state;       // [kNumbers, n]
  const float* ctrl;  // [nu, n]
  // Quantities of the last stage; null if they are not needed.
  float* qacc;               // [nv, n]
  float* cfrc_ext;           // [nbody, 6, n]
  float* unsolved;           // [n], added to
  float* sensors = nullptr;  // [size of MuJoCo's sensordata, n]; if given, every time step computes forces

  template <class F>
  DRL_HD void lanes(int64_t i) const {
    using P = typename Robot::template Physics<F>;
    typename P::State s;
    typename P::Stage last;
    typename P::Work work;
    static_assert(!P::Work::kHasColumns, "only environments of a task have columns");
    physics::begin_parameters<P>(last);
    F controls[physics::at_least_one(nu)];
    each_number<F>(s, [&](F& x, int k) DRL_LAMBDA { x = load<F>(state + k * n + i); });
    for (int k = 0; k < nu; ++k) controls[k] = load<F>(ctrl + k * n + i);
    F not_solved = F(0);
    for (int k = 0; k < frame_skip; ++k) {
      physics::step<P>(s, controls, last, work, (cfrc_ext != nullptr && k + 1 == frame_skip) || sensors != nullptr);
      not_solved = not_solved + last.unsolved;
    }
    each_number<F>(s, [&](F& x, int k) DRL_LAMBDA { store(state + k * n + i, x); });
    if (unsolved) store(unsolved + i, load<F>(unsolved + i) + not_solved);
    if (qacc)
      for (int k = 0; k < nv; ++k) store(qacc + k * n + i, last.qacc[k]);
    if constexpr (P::kSensorNumbers > 0)
      if (sensors) {
        typename P::Derived derived;
        physics::derive_frames<P>(last, derived), physics::derive_centers<P>(last, derived),
            physics::derive_motion<P>(last, derived);
        physics::derive_sensors<P>(last, derived);
        for (int k = 0; k < P::kSensorNumbers; ++k) {
          const int place = P::sensor_place(k);
          store(sensors + k * n + i, place < 0 ? derived.sensor[k] : last.sensed[place / 4][place % 4]);
        }
      }
    if (cfrc_ext) {
      typename P::Derived derived;
      physics::derive_forces<P>(last, work.forces, derived);
      for (int b = 1; b < nbody; ++b)
        for (int k = 0; k < 6; ++k) store(cfrc_ext + (6 * b + k) * n + i, derived.cfrc_ext[b - 1][k]);
    }
  }

 private:
  template <class F, class State, class Body>
  DRL_HD static void each_number(State& s, const Body& body) {
    for (int k = 0; k < nq; ++k) body(s.qpos[k], k);
    for (int k = 0; k < nv; ++k) body(s.qvel[k], nq + k), body(s.warm_start[k], nq + nv + k);
    body(s.time, nq + 2 * nv);
    if constexpr (na > 0)
      for (int k = 0; k < na; ++k) body(s.act[k], nq + 2 * nv + 1 + k);
  }
};

}  // namespace drl

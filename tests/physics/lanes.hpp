// Tests robots' physics in lanes of float: that lanes are independent, and that they are accurate.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "../support/host_loops.hpp"
#include "drl/physics/loop.hpp"
#include "drl/physics/shared_heights.hpp"
#include "reference.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kStates = 1999;  // not a multiple of a pack

template <class Robot>
class Batch {
 public:
  using Step = StepRobots<Robot>;

  // `move` may change each state before it becomes one of the batch.
  explicit Batch(const std::string& file, const std::function<void(RobotState&)>& move = nullptr) : reference_(file) {
    load_heights<typename Robot::template Physics<float>>(reference_.model());
    state_.resize(Step::kNumbers * kStates), ctrl_.resize(Step::nu * kStates);
    for (int64_t e = 0; e < kStates; ++e) {
      RobotState s = reference_.next_state();
      if (move) move(s);
      const auto put = [&](std::vector<double>& numbers, std::vector<float>& to, int first) {
        for (size_t k = 0; k < numbers.size(); ++k) {
          float& x = to[(static_cast<size_t>(first) + k) * kStates + static_cast<size_t>(e)];
          numbers[k] = static_cast<double>(x = static_cast<float>(numbers[k]));
        }
      };
      put(s.qpos, state_, 0), put(s.qvel, state_, Step::nq), put(s.warm_start, state_, Step::nq + Step::nv);
      put(s.act, state_, Step::nq + 2 * Step::nv + 1);
      put(s.ctrl, ctrl_, 0);
      states_.push_back(s);
    }
  }

  // Returns qacc [nv, kStates] of the last stage, state [kNumbers, kStates], forces and `unsolved` [kStates] after
  // these steps.
  std::vector<float> step(const Loops& loops, int steps = 1) const {
    std::vector<float> state = state_, qacc(Step::nv * kStates), unsolved(kStates), forces(6 * Step::nbody * kStates);
    loops(kStates, Step{kStates, steps, state.data(), ctrl_.data(), qacc.data(), forces.data(), unsolved.data()});
    for (const auto* more : {&state, &forces, &unsolved}) qacc.insert(qacc.end(), more->begin(), more->end());
    return qacc;
  }

  // Returns the errors of all states, in ascending order. None is infinite or NaN.
  std::vector<double> errors(const std::vector<float>& stepped) {
    std::vector<double> errors;
    for (int64_t e = 0; e < kStates; ++e) {
      errors.push_back(error(stepped, e, reference_.after_step(states_[static_cast<size_t>(e)])));
      EXPECT_TRUE(std::isfinite(errors.back())) << "state " << e;
    }
    std::ranges::sort(errors);
    return errors;
  }
  void expect_near(const std::vector<float>& stepped, double bound_of_99_percent) {
    std::vector<double> errors;
    int undecided = 0;
    for (int64_t e = 0; e < kStates; ++e) {
      const double here = error(stepped, e, reference_.after_step(states_[static_cast<size_t>(e)]));
      const bool is_out = here > 1e-2 && is_undecided(states_[static_cast<size_t>(e)]);
      undecided += is_out ? 1 : 0;
      if (!is_out) errors.push_back(here);
    }
    std::ranges::sort(errors);
    EXPECT_LE(errors[errors.size() * 99 / 100], bound_of_99_percent);
    EXPECT_LE(errors.back(), 1e-2);
    EXPECT_LE(undecided, kStates / 200);
  }

 private:
  static double error(const std::vector<float>& stepped, int64_t state, const mjData& expected) {
    float qacc[Step::nv];
    for (int k = 0; k < Step::nv; ++k) qacc[k] = stepped[static_cast<size_t>(k * kStates + state)];
    return difference(qacc, expected.qacc, Step::nv);
  }
  // Returns whether the active constraints cannot be determined in float: libmujoco's results change within the
  // rounding.
  bool is_undecided(const RobotState& state) {
    const auto qacc = [&](const RobotState& s) {
      const mjData& d = reference_.after_step(s);
      return std::vector<double>(d.qacc, d.qacc + Step::nv);
    };
    const std::vector<double> here = qacc(state);
    double most = 0;
    for (int k = 0; k < 20; ++k)
      most = std::max(most, difference(qacc(reference_.nearby(state, 1e-6)).data(), here.data(), Step::nv));
    return most > 1e-2;
  }

  Reference reference_;
  std::vector<float> state_, ctrl_;
  std::vector<RobotState> states_;
};

// Checks on every instruction set that a lane has bit-identical results in a pack and alone. The instruction sets with
// fused multiply-add must all give the same results.
template <class Robot>
void expect_independent(const Batch<Robot>& batch) {
  std::vector<float> with_fma;
  for (const Isa isa : compiled_isas()) {
    // Each step after the first starts from the end of the previous one.
    constexpr int kSteps = 4;
    const std::vector<float> packs = batch.step(Loops(isa, true), kSteps),
                             alone = batch.step(Loops(isa, false), kSteps);
    EXPECT_EQ(std::memcmp(packs.data(), alone.data(), packs.size() * sizeof(float)), 0) << name_of(isa);
    if (name_of(isa) == "x86-64-v2") continue;
    if (with_fma.empty()) with_fma = packs;
    EXPECT_EQ(std::memcmp(packs.data(), with_fma.data(), packs.size() * sizeof(float)), 0) << name_of(isa);
  }
}
// Checks also that lanes are accurate. `bound_of_99_percent` bounds the errors of 99 % of the states.
template <class Robot>
void expect_lanes(const std::string& file, double bound_of_99_percent = 1e-4) {
  Batch<Robot> batch(file);
  expect_independent(batch);
  batch.expect_near(batch.step(Loops()), bound_of_99_percent);
}

}  // namespace
}  // namespace drl

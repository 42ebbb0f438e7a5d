// Compares robots' physics in lanes of float: that lanes are independent, and that they are accurate.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "../support/host_loops.hpp"
#include "tested_robots.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kStates = 1999;  // not a multiple of a pack

class Batch {
 public:
  // `move` may change each state before it becomes one of the batch.
  explicit Batch(const TestedRobot& robot, const std::function<void(RobotState&)>& move = nullptr)
      : robot_(robot.lanes()), reference_(robot.file) {
    robot_.load_heights(model_);
    state_.resize(static_cast<size_t>(nq + 2 * nv + 1 + model_.na) * kStates);
    ctrl_.resize(static_cast<size_t>(model_.nu) * kStates);
    for (int64_t e = 0; e < kStates; ++e) {
      RobotState s = reference_.next_state();
      if (move) move(s);
      const auto put = [&](std::vector<double>& numbers, std::vector<float>& to, int first) {
        for (size_t k = 0; k < numbers.size(); ++k) {
          float& x = to[(static_cast<size_t>(first) + k) * kStates + static_cast<size_t>(e)];
          numbers[k] = static_cast<double>(x = static_cast<float>(numbers[k]));
        }
      };
      put(s.qpos, state_, 0), put(s.qvel, state_, nq), put(s.warm_start, state_, nq + nv);
      put(s.act, state_, nq + 2 * nv + 1);
      put(s.ctrl, ctrl_, 0);
      states_.push_back(s);
    }
  }

  // Returns qacc [nv, kStates] of the last stage, state [nq + 2 nv + 1 + na, kStates], forces [6 nbody, kStates],
  // `unsolved` [kStates] and, if asked for, sensordata [nsensordata, kStates] after these steps.
  std::vector<float> step(const Loops& loops, int steps = 1, bool with_sensors = false) const {
    std::vector<float> state = state_, qacc(static_cast<size_t>(nv) * kStates), unsolved(kStates);
    std::vector<float> forces(6 * static_cast<size_t>(model_.nbody) * kStates);
    std::vector<float> sensors(with_sensors ? static_cast<size_t>(model_.nsensordata) * kStates : 0);
    const test::LanesStep step{kStates,     steps,         state.data(),    ctrl_.data(),
                               qacc.data(), forces.data(), unsolved.data(), with_sensors ? sensors.data() : nullptr};
    for (int64_t e = 0; e < kStates; e += loops.packs() ? kStates : 1)
      robot_.step(loops.queue(), e, loops.packs() ? kStates : e + 1, step);
    for (const auto* more : {&state, &forces, &unsolved, &sensors}) qacc.insert(qacc.end(), more->begin(), more->end());
    return qacc;
  }
  Reference& reference() { return reference_; }
  const std::vector<RobotState>& states() const { return states_; }

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
  double error(const std::vector<float>& stepped, int64_t state, const mjData& expected) const {
    std::vector<float> qacc(static_cast<size_t>(nv));
    for (size_t k = 0; k < qacc.size(); ++k) qacc[k] = stepped[k * kStates + static_cast<size_t>(state)];
    return difference(qacc.data(), expected.qacc, nv);
  }
  // Returns whether the active constraints cannot be determined in float: libmujoco's results change within the
  // rounding.
  bool is_undecided(const RobotState& state) {
    const auto qacc = [&](const RobotState& s) {
      const mjData& d = reference_.after_step(s);
      return std::vector<double>(d.qacc, d.qacc + nv);
    };
    const std::vector<double> here = qacc(state);
    double most = 0;
    for (int k = 0; k < 20; ++k)
      most = std::max(most, difference(qacc(reference_.nearby(state, 1e-6)).data(), here.data(), nv));
    return most > 1e-2;
  }

  LanesRobot robot_;
  Reference reference_;
  const mjModel& model_ = reference_.model();
  const int nq = static_cast<int>(model_.nq), nv = static_cast<int>(model_.nv);
  std::vector<float> state_, ctrl_;
  std::vector<RobotState> states_;
};

// Checks on every instruction set that a lane has bit-identical results in a pack and alone. The instruction sets with
// fused multiply-add must all give the same results.
void expect_independent(const Batch& batch) {
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

class Lanes : public testing::TestWithParam<TestedRobot> {};
INSTANTIATE_TEST_SUITE_P(Robots, Lanes, testing::ValuesIn([] {
                           std::vector<TestedRobot> robots;
                           for (const auto* list : {&tested_robots(), &special_robots()})
                             for (const TestedRobot& robot : *list)
                               if (robot.lanes) robots.push_back(robot);
                           return robots;
                         }()),
                         test::name_of);
TEST_P(Lanes, AreIndependentAndAccurate) {
  Batch batch(GetParam());
  expect_independent(batch);
  if (GetParam().float_error > 0) batch.expect_near(batch.step(Loops()), GetParam().float_error);
}

// An environment that has diverged does not change those next to it.
TEST(SomeLanes, AreNotChangedByOnesThatAreNotANumber) {
  for (const char* name : {"humanoid", "tangle"}) {
    constexpr int kEvery = 5;
    int n = 0;
    const std::vector<float> all = Batch(tested(name)).step(Loops(), 4);
    const std::vector<float> some = Batch(tested(name), [&](RobotState& s) {
                                      if (n++ % kEvery == 0) s.qvel[0] = std::nan("");
                                    }).step(Loops(), 4);
    for (size_t k = 0; k < all.size(); ++k)
      if (k % kStates % kEvery != 0) ASSERT_EQ(some[k], all[k]) << name << ", state " << k % kStates;
  }
}

// In float, more choices between equally good corners are undecided than in double (contacts_test.cpp).
TEST(SomeLanes, OfBricksAreMostlyAccurate) {
  Batch batch(tested("bricks"));
  const std::vector<double> errors = batch.errors(batch.step(Loops()));
  EXPECT_LE(errors[kStates / 2], 1e-4);
  EXPECT_LE(errors[kStates * 9 / 10], 1e-3);
}

// The field ends at x = 2.8 m. Neighbouring lanes overlap different numbers of cells there.
TEST(SomeLanes, OfHillsAreIndependentAtTheBorder) {
  int n = 0;
  expect_independent(Batch(tested("hills"), [&](RobotState& s) {
    s.qpos[0] = 2.8 + 0.02 * (n % 23 - 11), s.qpos[2] = 0.25 + 0.03 * (n % 7);
    n += 1;
  }));
}

// Compares the contact forces and sensors of a step in lanes.
TEST(SomeLanes, OfStiffSkaterHaveTheForcesAndSensorsOfLibmujoco) {
  Batch batch(tested("stiff_skater"));
  const mjModel& m = batch.reference().model();
  const std::vector<float> all = batch.step(Loops(), 1, true);
  const int64_t forces = m.nv + m.nq + 2 * m.nv + 1 + m.na, unsolved = forces + 6 * m.nbody;
  int touching = 0;
  for (int64_t e = 0; e < kStates; ++e) {
    const mjData& d = batch.reference().after_step(batch.states()[static_cast<size_t>(e)]);
    const auto of_lane = [&](int64_t first, int64_t count) {
      std::vector<double> numbers;
      for (int64_t k = first; k < first + count; ++k)
        numbers.push_back(static_cast<double>(all[static_cast<size_t>(k * kStates + e)]));
      return numbers;
    };
    const int numbers = 6 * (static_cast<int>(m.nbody) - 1), sensors = static_cast<int>(m.nsensordata);
    touching += d.ncon > 0 ? 1 : 0;
    ASSERT_LE(difference(of_lane(forces + 6, numbers).data(), d.cfrc_ext + 6, numbers), 1e-5) << "state " << e;
    ASSERT_LE(difference(of_lane(unsolved + 1, sensors).data(), d.sensordata, sensors), 1e-5) << "state " << e;
    ASSERT_EQ(of_lane(unsolved, 1)[0], 0) << "state " << e;
  }
  EXPECT_GE(touching, 500);
}

}  // namespace
}  // namespace drl

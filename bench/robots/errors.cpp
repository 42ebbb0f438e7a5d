// robot_errors MODEL.xml STATES: compares a compiled model's accelerations with libmujoco's in states of random motion,
// and prints "DOUBLE_MEDIAN DOUBLE_99 DOUBLE_MOST NOISE_99 BEYOND FLOAT_MEDIAN FLOAT_99 CONTACTS UNSOLVED". An error is
// max |a - b| / (1 + max |b|) over the degrees of freedom, where b is libmujoco's with its solver run to convergence.
// The noise is how much b changes at most in five draws of positions, velocities and directions of geoms that differ by
// 1e-13. BEYOND counts states whose error in double is more than 1e-7 and more than 100 times the noise.
#include <cstdio>
#include <cstdlib>

#include "model.hpp"

namespace drl {
namespace {

// The first states of random motion: from the model's start, from its keyframes and from random positions, in turn.
std::vector<test::RobotState> random_states(test::Reference& reference, int count) {
  constexpr int kPerStart = 60, kStepsBetween = 10, kStepsPerControl = 5;
  const mjModel& m = reference.model();
  const std::unique_ptr<mjData, test::DeleteData> d(mj_makeData(&m));
  std::vector<test::RobotState> states;
  for (int k = 0; k < count; ++k) {
    if (k % kPerStart == 0) {
      const int start = k / kPerStart;
      mj_resetData(&m, d.get());
      if (m.nkey > 0 && start % 2 == 0) mj_resetDataKeyframe(&m, d.get(), start / 2 % m.nkey);
      if (start % 3 == 2) draw_positions(m, *d, reference);
      for (int i = 0; i < m.nv; ++i) d->qvel[i] = 0.3 * reference.draw();
    }
    for (int s = 0; s < kStepsBetween; ++s) {
      for (int a = 0; a < m.nu && s % kStepsPerControl == 0; ++a) d->ctrl[a] = random_control(m, a, reference);
      mj_step(&m, d.get());
    }
    states.push_back(reference.state_of(*d));
    // Both precisions begin with the same numbers.
    for (auto* numbers : {&states.back().qpos, &states.back().qvel, &states.back().ctrl, &states.back().act})
      for (double& x : *numbers) x = static_cast<double>(static_cast<float>(x));
  }
  return states;
}

template <class F>
class Evaluated {
 public:
  Evaluated() { physics::begin_parameters<P>(stage_); }
  // Returns the error of the accelerations.
  double error(const test::RobotState& from, const std::vector<double>& expected) {
    state_ = {};
    std::ranges::transform(from.qpos, state_.qpos, [](double x) { return static_cast<F>(x); });
    std::ranges::transform(from.qvel, state_.qvel, [](double x) { return static_cast<F>(x); });
    std::ranges::transform(from.warm_start, state_.warm_start, [](double x) { return static_cast<F>(x); });
    std::ranges::transform(from.ctrl, ctrl_, [](double x) { return static_cast<F>(x); });
    if constexpr (P::kActivations > 0)
      std::ranges::transform(from.act, state_.act, [](double x) { return static_cast<F>(x); });
    physics::evaluate<P>(state_, ctrl_, stage_);
    unsolved += stage_.unsolved != F(0);
    return test::difference(stage_.qacc, expected.data(), P::nv);
  }
  int unsolved = 0;

 private:
  using P = Compiled::Physics<F>;
  typename P::State state_{};
  typename P::Stage stage_{};
  F ctrl_[physics::at_least_one(P::nu)] = {};
};

double quantile(std::vector<double> numbers, double share) {
  std::ranges::sort(numbers);
  return numbers[static_cast<size_t>(share * static_cast<double>(numbers.size() - 1))];
}

void run(const std::string& file, int count) {
  test::Reference reference(file), near(file);
  near.turn_geoms(1e-13);
  constexpr int kDraws = 5;
  const mjModel& m = reference.model();
  load_heights<Compiled::Physics<float>>(m);
  const auto in_double = std::make_unique<Evaluated<double>>();
  const auto in_float = std::make_unique<Evaluated<float>>();
  std::vector<double> errors, of_float, noises;
  int contacts = 0, beyond = 0;
  for (const test::RobotState& state : random_states(reference, count)) {
    const mjData& d = reference.after_forward(state);
    const std::vector<double> expected(d.qacc, d.qacc + m.nv);
    contacts += d.ncon;
    noises.push_back(0);
    for (int draw = 0; draw < kDraws; ++draw) {
      const mjData& changed = near.after_forward(near.nearby(state, 1e-13), false);
      noises.back() = std::max(noises.back(), test::difference(changed.qacc, expected.data(), m.nv));
    }
    errors.push_back(in_double->error(state, expected));
    of_float.push_back(in_float->error(state, expected));
    beyond += errors.back() > std::max(1e-7, 100 * noises.back());
  }
  std::printf("%.0e %.0e %.0e %.0e %d %.0e %.0e %.1f %d\n", quantile(errors, 0.5), quantile(errors, 0.99),
              quantile(errors, 1), quantile(noises, 0.99), beyond, quantile(of_float, 0.5), quantile(of_float, 0.99),
              static_cast<double>(contacts) / count, in_double->unsolved);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: robot_errors MODEL.xml STATES\n", stderr), 2;
  drl::run(argv[1], std::atoi(argv[2]));
}

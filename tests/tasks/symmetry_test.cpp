// Checks the mirrors of the built-in tasks: a mirrored state that takes mirrored actions gives mirrored observations
// and the same rewards. In all of these tasks, a mirror changes the sign of every number of the state.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tasks/builtin_tasks.hpp"

namespace drl {
namespace {

template <class Task>
void change_signs(typename Task::State& state) {
  auto number = [](double& x) { x = -x; };
  auto member = [&](const char*, auto& m) { each_number(m, number); };
  state.describe(member);
}

// Returns the mirrored action: of a discrete one, the mirrored choice.
template <class Task>
double mirrored_action(double action) {
  if constexpr (Task::action.discrete)
    return Task::mirrored_action.numbers[static_cast<size_t>(action)].source;
  else
    return static_cast<double>(Task::mirrored_action.numbers[0].sign) * action;
}

template <template <class> class TaskOf>
void expect_symmetric(double tolerance) {
  using Task = TaskOf<double>;
  std::mt19937_64 random(7);
  const typename Task::Params params{};
  typename Task::State one{};
  Draws<double> draws(3, 0, 0);
  Task::reset(one, draws, params);
  auto other = one;
  change_signs<Task>(other);
  double moved = 0;
  for (int step = 0; step < 50; ++step) {
    double action = std::uniform_real_distribution<double>(-1, 1)(random);
    if constexpr (Task::action.discrete) action = static_cast<double>(random() % Task::action.space().size);
    const double in_mirror = mirrored_action<Task>(action);
    Scratch<Task> none;
    const auto result = task::step<Task, double>(one, none, &action, draws, params);
    const auto mirrored = task::step<Task, double>(other, none, &in_mirror, draws, params);
    EXPECT_NEAR(mirrored.reward, result.reward, tolerance);
    for (int k = 0; k < reward_term_count<Task>(); ++k) EXPECT_NEAR(mirrored.terms[k], result.terms[k], tolerance);
    EXPECT_EQ(mirrored.terminated, result.terminated);
    double obs[Task::obs_dim], of_other[Task::obs_dim];
    task::observe<Task, double>(one, none, draws, params, obs);
    task::observe<Task, double>(other, none, draws, params, of_other);
    for (int k = 0; k < Task::obs_dim; ++k) {
      const auto [source, sign] = Task::mirrored_obs.numbers[k];
      EXPECT_NEAR(of_other[k], static_cast<double>(sign) * obs[source], tolerance) << Task::name << ", number " << k;
      if (sign < 0) moved = std::max(moved, std::abs(obs[source]));
    }
  }
  EXPECT_GT(moved, 0.01) << "numbers whose signs change";
}

TEST(Symmetry, OfBuiltInTasks) {
  expect_symmetric<CartPoleV1>(1e-12);
  expect_symmetric<Cartpole>(1e-12);
  expect_symmetric<PendulumV1>(1e-9);  // angles are wrapped
  expect_symmetric<AcrobotV1>(1e-9);
}

}  // namespace
}  // namespace drl

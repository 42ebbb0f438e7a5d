// Compares environments with ones that are stepped by hand, with the code for one lane.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "../support/stepped.hpp"
#include "drl/lanes/philox.hpp"
#include "drl/task.hpp"

namespace drl {

// One environment of a task. What drl adds to a task is computed here: scaled actions, weights, ends and history.
template <class Task>
class ScalarEnv {
 public:
  ScalarEnv(uint64_t seed, int64_t index, const typename Task::Params& params = {})
      : seed_(seed), index_(static_cast<uint64_t>(index)), params_(params), critic(critic_obs_dim_of<Task>()) {
    auto draws = this->draws(0, Purpose::create);
    task::create<Task, float>(state, none_, draws, params_);
    restart(0);
  }
  // Takes step t of its lifetime, with an action of the policy.
  void step(std::vector<float> action, uint64_t t) {
    const ActionSpace space = Task::action.space();
    for (size_t k = 0; k < space.scale.size(); ++k) action[k] = space.offset[k] + space.scale[k] * action[k];
    auto draws = this->draws(t, Purpose::step);
    result = task::step<Task, float>(state, none_, action.data(), draws, params_);
    if constexpr (kHasWeights<Task>)
      for (size_t k = 0; k < std::size(Task::reward_terms); ++k) {
        result.terms[k] *= weight(Task::reward_terms[k]);
        result.reward += result.terms[k];
      }
    for (int k = 0; k < end_count<Task>(); ++k)
      (time_outs<Task>() >> k & 1 ? result.truncated : result.terminated) |= result.ends[k];
    age += 1;
    result.truncated = (result.truncated || age == Task::step_limit) && !result.terminated;
    observe(t, Purpose::observe);
    frames_.pop_front();
  }
  void restart(uint64_t t) {
    auto draws = this->draws(t, Purpose::reset);
    task::reset<Task, float>(state, none_, draws, params_);
    age = 0;
    frames_.clear();
    for (int k = 0; k < history_of<Task>(); ++k) observe(t, Purpose::first_observe);
  }
  bool has_ended() const { return result.terminated || result.truncated; }
  // Returns the observations of its latest steps, the oldest first.
  std::vector<float> obs() const {
    std::vector<float> all;
    for (const std::vector<float>& frame : frames_) all.insert(all.end(), frame.begin(), frame.end());
    return all;
  }

 private:
  Draws<float> draws(uint64_t t, Purpose purpose) const { return {seed_, index_, t, purpose}; }
  static float weight(const RewardTerm& term) {
    return static_cast<float>(scales_rewards_by_dt<Task>() ? term.weight * Task::dt : term.weight);
  }
  void observe(uint64_t t, Purpose purpose) {
    auto draws = this->draws(t, purpose);
    frames_.emplace_back(Task::obs_dim);
    task::observe<Task, float>(state, none_, draws, params_, frames_.back().data());
    if constexpr (critic_obs_dim_of<Task>() > 0)
      task::observe_critic<Task, float>(state, none_, params_, critic.data());
  }

  uint64_t seed_, index_;
  typename Task::Params params_;
  Scratch<Task> none_;
  std::deque<std::vector<float>> frames_;

 public:
  typename Task::State state{};
  Step<float, reward_term_count<Task>(), metric_count<Task>(), end_count<Task>()> result{};  // with weighted terms
  std::vector<float> critic;
  int age = 0;
};

// Expects `steps` steps that are bit-identical to those of ScalarEnvs. choose(s, t) sets the actions of step t, and
// watch(one, i) sees environment i after each of its steps, before a reset.
template <class Task, class Choose, class Watch>
void expect_bits_of_scalar_code(Stepped& s, uint64_t seed, int64_t steps, const Choose& choose, const Watch& watch) {
  const RolloutView& r = s.r;
  std::vector<ScalarEnv<Task>> envs;
  for (int64_t i = 0; i < s.n; ++i) envs.emplace_back(seed, s.first + i);
  std::vector<int> ends(static_cast<size_t>(s.n));
  const auto expect_obs = [&](const ScalarEnv<Task>& one, const float* obs, const float* critic, int64_t row) {
    ASSERT_EQ(std::vector<float>(obs + row * r.obs_dim, obs + (row + 1) * r.obs_dim), one.obs());
    ASSERT_EQ(std::vector<float>(critic + row * r.critic_obs_dim, critic + (row + 1) * r.critic_obs_dim), one.critic);
  };
  for (int64_t t = 0; t < steps; ++t) {
    choose(s, t);
    s.step_with_given_actions(t);
    for (int64_t i = 0; i < s.n; ++i) {
      SCOPED_TRACE(std::string(Task::name) + ", step " + std::to_string(t) + ", environment " + std::to_string(i));
      ScalarEnv<Task>& one = envs[static_cast<size_t>(i)];
      if (t == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_obs(one, r.obs, r.critic_obs, i));
      }
      const int64_t at = t * s.n + i, size = Task::action.size;
      if constexpr (Task::action.discrete)
        one.step({static_cast<float>(reinterpret_cast<const int32_t*>(r.action)[at])}, static_cast<uint64_t>(t));
      else
        one.step({r.env_action + i * size, r.env_action + (i + 1) * size}, static_cast<uint64_t>(t));
      ASSERT_EQ(r.reward[at], one.result.reward);
      ASSERT_EQ(r.terminated[at], one.result.terminated);
      ASSERT_EQ(r.truncated[at], one.result.truncated);
      watch(one, i);
      if (one.has_ended()) {
        const int64_t row = ends[static_cast<size_t>(i)]++ * s.n + i;
        ASSERT_NO_FATAL_FAILURE(expect_obs(one, r.last_obs, r.last_critic_obs, row)) << "the last of an episode";
        one.restart(static_cast<uint64_t>(t) + 1);
      }
      ASSERT_NO_FATAL_FAILURE(expect_obs(one, r.obs, r.critic_obs, at + s.n));
    }
  }
  for (int64_t i = 0; i < s.n; ++i) ASSERT_EQ(r.last_count[i], ends[static_cast<size_t>(i)]);
}

}  // namespace drl

// A simulator that counts, and simulators that fail.
#pragma once

#include <limits>
#include <stdexcept>
#include <vector>

#include "drl/simulator.hpp"

namespace drl {

// Each environment observes 1000 times its global index, and the number of steps of its episode. The critic also
// observes the last action. Episodes are truncated at their fourth step.
class Counter {
 public:
  static constexpr const char* name = "Counter";
  static constexpr const char* preset = "num_envs = 16\n[ppo]\n";
  static constexpr int obs_dim = 2, critic_obs_dim = 3, step_limit = 0;
  static constexpr double dt = 1;
  static constexpr bool truncates = true;
  static constexpr DiscreteAction<3> action{};

  explicit Counter(const SimulatorConfig& config)
      : first_(config.first_global_index), steps_(static_cast<size_t>(config.num_envs)), last_(steps_.size()) {}
  void reset(int64_t env, Draws<float>&) { steps_[static_cast<size_t>(env)] = 0, last_[static_cast<size_t>(env)] = 0; }
  Step<float> step(int64_t env, const float* action) {
    const auto i = static_cast<size_t>(env);
    last_[i] = static_cast<uint8_t>(action[0]);
    ++steps_[i];
    return {.reward = action[0], .truncated = steps_[i] == 4};
  }
  void observe(int64_t env, float* obs) const {
    obs[0] = static_cast<float>(1000 * (first_ + env)), obs[1] = static_cast<float>(steps_[static_cast<size_t>(env)]);
  }
  void observe_critic(int64_t env, float* obs) const {
    observe(env, obs);
    obs[2] = last_[static_cast<size_t>(env)];
  }
  template <class V>
  void visit_state(V& visit) {
    visit("steps", steps_.data());
    visit("last", last_.data());
  }

 private:
  int64_t first_;
  std::vector<int64_t> steps_;
  std::vector<uint8_t> last_;
};

// In an episode's third step, action 2 gives a reward that is not a number.
class Diverging : public Counter {
 public:
  static constexpr const char* name = "Diverging";
  using Counter::Counter;
  Step<float> step(int64_t env, const float* action) {
    Step<float> result = Counter::step(env, action);
    float obs[2];
    observe(env, obs);
    if (obs[1] == 3 && action[0] == 2) result.reward = std::numeric_limits<float>::quiet_NaN();
    return result;
  }
};

// The environment with global index 20 throws in its third step.
class Thrower : public Counter {
 public:
  static constexpr const char* name = "Thrower";
  using Counter::Counter;
  Step<float> step(int64_t env, const float* action) {
    const Step<float> result = Counter::step(env, action);
    float obs[2];
    observe(env, obs);
    if (obs[0] == 20'000 && obs[1] == 3) throw std::runtime_error("the licence server is asleep");
    return result;
  }
};

// Its constructor throws.
class Unmakeable : public Counter {
 public:
  static constexpr const char* name = "Unmakeable";
  explicit Unmakeable(const SimulatorConfig& config) : Counter(config) { throw std::runtime_error("no such model"); }
};

// Gives two arrays of its state the same name.
class SameNames : public Counter {
 public:
  static constexpr const char* name = "SameNames";
  using Counter::Counter;
  template <class V>
  void visit_state(V& visit) {
    Counter::visit_state(visit);
    Counter::visit_state(visit);
  }
};

}  // namespace drl

DRL_SIMULATOR(drl::Counter)
DRL_SIMULATOR(drl::Diverging)
DRL_SIMULATOR(drl::Thrower)
DRL_SIMULATOR(drl::Unmakeable)
DRL_SIMULATOR(drl::SameNames)

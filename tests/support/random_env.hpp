// For tests of gradients: random environments, and a communicator that passes the gradient to the test.
#pragma once

#include <cstdlib>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "envs/vec_env.hpp"
#include "learning.hpp"

namespace drl::test {

// Environments with random observations, rewards and episode ends, independent of the actions.
class RandomEnv final : public VecEnv {
 public:
  RandomEnv(TaskSpec spec, int64_t envs) : spec_(std::move(spec)), envs_(envs) { spec_.truncates = true; }
  const TaskSpec& spec() const override { return spec_; }
  int64_t num_envs() const override { return envs_; }
  void reset(Queue&, const StepRow& row, const Start&) override {
    for (int64_t i = 0; i < envs_; ++i) observe(i, row.next_obs, row.next_critic_obs);
  }
  void step(Queue&, LifetimeStep, int64_t begin, int64_t count, const StepRow& row) override {
    for (int64_t i = begin; i < begin + count; ++i) {
      row.reward[i] = uniform(random_, -1, 1);
      row.terminated[i] = random_() % 8 == 0;
      row.truncated[i] = !row.terminated[i] && random_() % 4 == 0;
      const int64_t at = row.take_last_row(i, envs_, row.truncated[i]);
      if (at >= 0) observe(at, row.last_obs, row.last_critic_obs);
      observe(i, row.next_obs, row.next_critic_obs);
    }
  }
  void take_episode_sums(Queue&, double* out, double*) override { std::fill_n(out, episode_columns(spec_), 0.0); }
  void visit_state(StateVisitor&) override {}

 private:
  void observe(int64_t row, float* obs, float* critic_obs) {
    fill_uniform(std::span(obs + row * spec_.obs_dim, static_cast<size_t>(spec_.obs_dim)), random_, -1, 2);
    if (spec_.critic_obs_dim)
      fill_uniform(std::span(critic_obs + row * spec_.critic_obs_dim, static_cast<size_t>(spec_.critic_obs_dim)),
                   random_, -3, 1);
  }

  TaskSpec spec_;
  int64_t envs_;
  Random random_{17};
};

// A communicator of one rank that calls `hear` with the data of each float32 all-reduce.
class Listener final : public Communicator {
 public:
  explicit Listener(std::function<void(std::span<const float>)> hear) : hear_(std::move(hear)) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void abort(int exit_code) override { std::exit(exit_code); }

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream) override { hear_(data); }
  void do_all_reduce_sum(std::span<double>, Stream) override {}
  void do_broadcast(std::span<std::byte>, int, bool) override {}
  std::vector<std::byte> do_gather(std::span<const std::byte>, int) override { return {}; }
  void do_scatter(std::span<const std::byte>, std::span<std::byte>, int) override {}

 private:
  std::function<void(std::span<const float>)> hear_;
};

}  // namespace drl::test

// The training loop that benchmarks measure, without files and console.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "algorithms/ppo/ppo.hpp"
#include "bench.hpp"
#include "comm/communicator.hpp"
#include "envs/make_env.hpp"

namespace drl {

// PPO with its default options: actor and critic with two layers of 64 tanh units, 5 epochs of 4 mini-batches.
class PpoLoop final : public Engine {
 public:
  // Makes networks for at most `rows` rows at once.
  using MakeNets = std::function<std::unique_ptr<Nets>(Queue&, const ParamLayout&, int64_t rows)>;

  // `gpu` is -1 to use one core.
  PpoLoop(const std::string& task, int64_t num_envs, int64_t num_steps, int gpu, bool graphs, MakeNets make)
      : make_(std::move(make)),
        graphs_(graphs),
        queue_(make_queue(gpu)),
        spec_(policy_spec(task_spec(task), policy_options())),
        nets_(make_nets(spec_.layout, (num_steps + 1) * num_envs)),
        envs_(make_env(task, {.num_envs = num_envs, .random_start_ages = true}, *queue_)),
        ppo_({.queue = *queue_,
              .policy = policy_options(),
              .plan = {num_envs, num_steps, 0, 1, 1, PpoOptions().num_mini_batches},
              .seed = 0,
              .spec = spec_,
              .nets = *nets_,
              .envs = *envs_,
              .engine = this},
             {}) {}
  void iterate() { ppo_.iterate(iteration_++, *comm_); }
  const IterationStats& stats() const { return ppo_.stats(); }
  Queue& queue() { return *queue_; }
  std::string description() const { return nets_->description(); }

  std::unique_ptr<Nets> make_nets(const ParamLayout& layout, int64_t rows) override {
    return make_(*queue_, layout, rows);
  }
  bool records_graphs() const override { return graphs_; }

 private:
  static PolicyOptions policy_options() {
    PolicyOptions policy;
    policy.activation = "tanh";
    return policy;
  }

  MakeNets make_;
  bool graphs_;
  std::unique_ptr<Communicator> comm_ = make_serial_communicator();
  std::unique_ptr<Queue> queue_;
  PolicySpec spec_;
  std::unique_ptr<Nets> nets_;
  std::unique_ptr<VecEnv> envs_;
  Ppo ppo_;
  int64_t iteration_ = 0;
};

}  // namespace drl

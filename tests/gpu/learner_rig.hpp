// Learners on the host's queue and on a GPU's, which are otherwise the same.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/ppo/ppo.hpp"
#include "envs/make_env.hpp"
#include "gpu_rig.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl::test {

// A state's fields by name, as bytes.
struct State final : StateVisitor {
  explicit State(Algorithm& algorithm) { algorithm.visit_state(*this); }
  void field(const StateField& field) override { fields[field.name] = field; }
  std::map<std::string, std::vector<std::byte>> bytes() const {
    std::map<std::string, std::vector<std::byte>> all;
    for (const auto& [name, field] : fields) all[name] = field.read();
    return all;
  }
  std::vector<float> floats(const std::string& name) const {
    const std::vector<std::byte> bytes = fields.at(name).read();
    const auto* numbers = reinterpret_cast<const float*>(bytes.data());
    return {numbers, numbers + bytes.size() / sizeof(float)};
  }
  void copy_from(const State& other) const {
    for (const auto& [name, field] : fields) field.write(other.fields.at(name).read());
  }
  std::map<std::string, StateField> fields;
};

// Environments with a fault: their steps wait for the queue, which a recording must not; or a number that the host
// knows, another one each step, is told to a kernel, so that a recording does not tell the next ones.
enum class Fault { none, waits_in_step, waits_in_backward, host_number };

class FaultyEnvs final : public VecEnv {
 public:
  FaultyEnvs(Queue& queue, std::unique_ptr<VecEnv> envs, Fault fault)
      : envs_(std::move(envs)), fault_(fault), number_(queue, 1) {}
  const TaskSpec& spec() const override { return envs_->spec(); }
  int64_t num_envs() const override { return envs_->num_envs(); }
  void reset(Queue& queue, const StepRow& row) override { envs_->reset(queue, row); }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    if (fault_ == Fault::waits_in_step) queue.synchronize();
    if (fault_ == Fault::host_number) {
      for_each(queue, 1, AdvanceLifetime{number_.data(), ++steps_});
      step = {number_.data()};
    }
    envs_->step(queue, step, begin, count, row);
  }
  void take_episode_sums(Queue& queue, double* out, double* scratch) override {
    envs_->take_episode_sums(queue, out, scratch);
  }
  void visit_state(StateVisitor& visitor) override { envs_->visit_state(visitor); }

 private:
  std::unique_ptr<VecEnv> envs_;
  Fault fault_;
  Array<int64_t> number_;
  int64_t steps_ = 0;
};

class WaitingNets final : public Nets {
 public:
  WaitingNets(Queue& queue, std::unique_ptr<Nets> nets) : Nets(nets->layout()), queue_(queue), nets_(std::move(nets)) {}
  int64_t tile() const override { return nets_->tile(); }
  std::unique_ptr<Tape> make_tape(NetId net) override { return nets_->make_tape(net); }
  void forward(NetId net, const float* params, const Rows& rows, float* out, Tape* tape) override {
    nets_->forward(net, params, rows, out, tape);
  }
  void backward(NetId net, const float* params, Tape& tape, const float* d_out, float* grad, float* d_in) override {
    queue_.synchronize();
    nets_->backward(net, params, tape, d_out, grad, d_in);
  }
  std::string description() const override { return nets_->description(); }

 private:
  Queue& queue_;
  std::unique_ptr<Nets> nets_;
};

struct LearnerOptions {
  std::string task;
  PpoOptions ppo = {};
  PolicyOptions policy = {};
  BatchPlan plan = {};
  bool graphs = true;
  Fault fault = Fault::none;
};

struct Learner {
  Learner(std::unique_ptr<Queue> on, const LearnerOptions& o)
      : queue(std::move(on)),
        spec(actor_critic(task_spec(o.task), o.policy)),
        nets(queue->on_gpu() ? make_gpu_nets(*queue, spec.layout, (o.plan.num_steps + 1) * o.plan.num_envs)
                             : make_torch_nets(*queue, spec.layout, 1)),
        envs(make_env(o.task, {o.plan.num_envs, o.plan.rank * o.plan.num_envs, kSeed, true}, *queue)) {
    if (o.fault == Fault::waits_in_backward) {
      nets = std::make_unique<WaitingNets>(*queue, std::move(nets));
    } else if (o.fault != Fault::none) {
      envs = std::make_unique<FaultyEnvs>(*queue, std::move(envs), o.fault);
    }
    ppo = std::make_unique<Ppo>(*queue, o.ppo, o.policy, o.plan, kSeed, spec, *nets, *envs, o.graphs);
  }
  void iterate(Communicator& comm, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      double riders[] = {static_cast<double>(i), 7};
      ppo->iterate(i, comm, riders);
      EXPECT_EQ(riders[0], static_cast<double>(i * comm.size()));
      EXPECT_EQ(riders[1], 7 * comm.size());
    }
  }
  std::map<std::string, std::vector<std::byte>> bytes() { return State(*ppo).bytes(); }

  static constexpr uint64_t kSeed = 5;
  std::unique_ptr<Queue> queue;
  ActorCritic spec;
  std::unique_ptr<Nets> nets;
  std::unique_ptr<VecEnv> envs;
  std::unique_ptr<Ppo> ppo;
};

inline Learner on_host(const LearnerOptions& options) { return {make_host_queue(isa_of("auto")), options}; }
inline Learner on_gpu(const LearnerOptions& options) { return {make_gpu_queue(isa_of("auto")), options}; }

inline void expect_near(double actual, double expected, double relative, double absolute, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what;
  } else {
    EXPECT_NEAR(actual, expected, relative * std::abs(expected) + absolute) << what;
  }
}

// After an iteration from the same state: up to rounding.
inline void expect_same_learning(Learner& gpu, Learner& host) {
  const IterationStats &a = gpu.ppo->stats(), &b = host.ppo->stats();
  expect_near(a.episodes.count, b.episodes.count, 0, 0, "episodes");
  expect_near(a.episodes.reward, b.episodes.reward, 1e-9, 1e-9, "reward");
  expect_near(a.episodes.length, b.episodes.length, 0, 0, "length");
  expect_near(a.value_loss, b.value_loss, 1e-3, 1e-6, "value_loss");
  expect_near(a.surrogate_loss, b.surrogate_loss, 0, 1e-5, "surrogate_loss");  // normalised advantages cancel
  expect_near(a.entropy, b.entropy, 1e-4, 1e-6, "entropy");
  expect_near(a.kl, b.kl, 1e-2, 1e-6, "kl");
  expect_near(a.clip_fraction, b.clip_fraction, 2e-2, 1e-6, "clip_fraction");
  expect_near(a.gradient_norm, b.gradient_norm, 1e-3, 1e-6, "gradient_norm");
  expect_near(a.explained_variance, b.explained_variance, 0, 1e-4, "explained_variance");
  expect_near(a.learning_rate, b.learning_rate, 1e-12, 0, "learning_rate");
  expect_near(a.action_std, b.action_std, 1e-5, 1e-6, "action_std");
  const State gpu_state(*gpu.ppo), host_state(*host.ppo);
  for (const auto& [name, field] : host_state.fields) {
    if (field.type != DType::f32 || field.sharding != Sharding::replicated) continue;
    EXPECT_LE(largest_difference(gpu_state.floats(name), host_state.floats(name)), 2e-3) << name;
  }
}

// So that what differs by rounding does not add up to other actions.
inline void copy_state(Learner& to, Learner& from) {
  State(*to.ppo).copy_from(State(*from.ppo));
  to.ppo->state_changed();
}

}  // namespace drl::test

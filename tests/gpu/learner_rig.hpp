// Learners that differ only in their queue: the host's or a GPU's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../support/test_engine.hpp"
#include "algorithms/distill/distill.hpp"
#include "algorithms/grpo/grpo.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "algorithms/sac/sac.hpp"
#include "algorithms/td3/td3.hpp"
#include "envs/make_env.hpp"
#include "envs/wrapped_envs.hpp"
#include "gpu_rig.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/gpu_fused/fused_gpu_nets.hpp"
#include "nets/torch/torch_nets.hpp"
#include "policy/initialize.hpp"

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

// Faults of a learner's parts. `waits_in_...`: a step or backward pass waits for the queue, which is not allowed while
// recording. `host_number`: the host passes a number to a kernel that changes with each step, so a recording would
// repeat the first one.
enum class Fault { none, waits_in_step, waits_in_backward, host_number };

class FaultyEnvs final : public WrappedEnvs {
 public:
  FaultyEnvs(std::unique_ptr<VecEnv> envs, Fault fault) : WrappedEnvs(std::move(envs)), fault_(fault) {}
  void reset(Queue& queue, const StepRow& row, const Start& start) override {
    wrapped().reset(queue, row, {step_for_kernel(start.step), start.group_size});
  }
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    if (fault_ == Fault::waits_in_step) queue.synchronize();
    wrapped().step(queue, step_for_kernel(step), begin, count, row);
  }

 private:
  LifetimeStep step_for_kernel(LifetimeStep step) {
    return fault_ == Fault::host_number ? LifetimeStep{nullptr, ++steps_} : step;
  }

  Fault fault_;
  int64_t steps_ = 0;
};

class WaitingNets final : public Nets {
 public:
  WaitingNets(Queue& queue, std::unique_ptr<Nets> nets) : Nets(nets->layout()), queue_(queue), nets_(std::move(nets)) {}
  int64_t tile() const override { return nets_->tile(); }
  std::unique_ptr<Tape> make_tape(NetId net) override { return nets_->make_tape(net); }
  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    nets_->forward(net, weights, rows, out, tape);
  }
  void backward(NetId net, const Weights& weights, Tape& tape, const float* d_out, float* grad, float* d_in) override {
    queue_.synchronize();
    nets_->backward(net, weights, tape, d_out, grad, d_in);
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
  std::optional<GrpoOptions> grpo = {};  // if set, the learner is GRPO instead of PPO
  // If set, it is distillation. The teacher is recurrent and sees what the student sees.
  std::optional<DistillOptions> distill = {};
  std::optional<SacOptions> sac = {};        // if set, it is SAC
  std::optional<Td3Options> td3 = {};        // if set, it is TD3
  std::optional<FusedPrecision> fused = {};  // on a GPU, of the fused engine; none: layer by layer

  const UpdateOptions& update() const {
    return grpo      ? static_cast<const UpdateOptions&>(*grpo)
           : distill ? static_cast<const UpdateOptions&>(*distill)
                     : ppo;
  }
  std::optional<NormalizerRule> normalizer() const {
    return sac ? sac->normalizer() : td3 ? td3->normalizer() : update().normalizer();
  }
  UpdateOptions& update() { return const_cast<UpdateOptions&>(std::as_const(*this).update()); }
};

// Switches on all options that have separate kernels or sums.
inline void every_option(LearnerOptions& o) {
  o.policy.activation = "silu", o.policy.layer_norm = true;
  o.update().grad_clip = "joint";
  o.ppo.reward_normalization = o.ppo.normalize_advantage_per_mini_batch = true;
  if (!task_spec(o.task).mirror.empty()) o.ppo.symmetry = "both";
  o.ppo.rnd.weight = 2, o.ppo.rnd.num_outputs = 5;
  o.ppo.rnd.weight_schedule = "linear", o.ppo.rnd.initial_step = 10, o.ppo.rnd.final_step = 40;
  o.ppo.rnd.state_normalization = o.ppo.rnd.reward_normalization = true;
}

struct Learner {
  Learner(std::unique_ptr<Queue> on, const LearnerOptions& o)
      : queue(std::move(on)),
        spec(policy_spec(task_spec(o.task), o.policy, o.normalizer(), !o.grpo && !o.distill && !o.sac && !o.td3)),
        nets(make_nets(spec.layout, o)),
        envs(make_env(o.task, {o.plan.num_envs, o.plan.rank * o.plan.num_envs, kSeed, true}, *queue)) {
    if (o.fault == Fault::waits_in_backward) {
      nets = std::make_unique<WaitingNets>(*queue, std::move(nets));
    } else if (o.fault != Fault::none) {
      envs = std::make_unique<FaultyEnvs>(std::move(envs), o.fault);
    }
    engine.emplace([this, o](const ParamLayout& layout) { return make_nets(layout, o); }, o.graphs);
    LearnerParts parts{*queue, o.policy, o.plan, kSeed, spec, *nets, *envs};
    parts.engine = &*engine;
    if (o.distill) {
      make_teacher(o);
      parts.teacher = &*teacher;
      learner = std::make_unique<Distill>(parts, *o.distill);
    } else if (o.sac) {
      learner = std::make_unique<Sac>(parts, *o.sac);
    } else if (o.td3) {
      learner = std::make_unique<Td3>(parts, *o.td3);
    } else if (o.grpo) {
      learner = std::make_unique<Grpo>(parts, *o.grpo);
    } else {
      learner = std::make_unique<Ppo>(parts, o.ppo);
    }
    of_host = learner->slots().add(2);
  }
  std::unique_ptr<Nets> make_nets(const ParamLayout& layout, const LearnerOptions& o) const {
    if (!queue->on_gpu()) return make_torch_nets(*queue, layout, 1);
    const int64_t rows = o.plan.most_rows();
    return o.fused ? make_fused_gpu_nets(*queue, layout, rows, *o.fused) : make_gpu_nets(*queue, layout, rows);
  }
  void make_teacher(const LearnerOptions& o) {
    PolicyOptions options;
    options.actor_hidden_dims = {10}, options.rnn_type = "gru", options.rnn_hidden_dim = 6;
    teacher_spec = policy_spec(task_spec(o.task), options);
    teacher_nets = make_nets(teacher_spec.layout, o);
    std::vector<float> params(static_cast<size_t>(teacher_spec.layout.size()));
    initialize_parameters(teacher_spec, options, 5, params);
    teacher_params = Array<float>(*queue, params.size());
    queue->copy(teacher_params.data(), params.data(), params.size());
    queue->synchronize();
    teacher.emplace(Teacher{teacher_spec, *teacher_nets, teacher_params.data(), {}, false});
  }
  void iterate(Communicator& comm, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      Slots& slots = learner->slots();
      slots.own(of_host)[0] = static_cast<double>(i), slots.own(of_host)[1] = 7;
      learner->iterate(i, comm);
      EXPECT_EQ(slots.sums(of_host)[0], static_cast<double>(i * comm.size()));
      EXPECT_EQ(slots.sums(of_host)[1], 7 * comm.size());
    }
  }
  std::map<std::string, std::vector<std::byte>> bytes() { return State(*learner).bytes(); }

  static constexpr uint64_t kSeed = 5;
  std::unique_ptr<Queue> queue;
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::unique_ptr<VecEnv> envs;
  PolicySpec teacher_spec;
  std::unique_ptr<Nets> teacher_nets;
  Array<float> teacher_params;
  std::optional<Teacher> teacher;
  std::optional<TestEngine> engine;
  std::unique_ptr<Algorithm> learner;
  Slots::Place of_host;  // sums of numbers that the host writes
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

// Expects that an iteration from the same state gave the same results up to rounding. Continuous actions, and so their
// rewards, contain the rounding of the network.
inline void expect_same_learning(Learner& gpu, Learner& host) {
  const IterationStats &a = gpu.learner->stats(), &b = host.learner->stats();
  const double rounding = gpu.envs->spec().action.discrete ? 1e-9 : 1e-6;
  expect_near(a.episodes.count, b.episodes.count, 0, 0, "episodes");
  expect_near(a.episodes.reward, b.episodes.reward, rounding, rounding, "reward");
  expect_near(a.episodes.length, b.episodes.length, 0, 0, "length");
  struct Bound {
    double relative, absolute;
  };
  const std::map<std::string_view, Bound> bounds = {{"surrogate_loss", {0, 1e-5}},  // normalised advantages cancel
                                                    {"entropy", {1e-4, 1e-6}},       {"kl", {1e-2, 1e-6}},
                                                    {"clip_fraction", {2e-2, 1e-6}}, {"explained_variance", {0, 1e-4}},
                                                    {"learning_rate", {1e-12, 0}},   {"action_std", {1e-5, 1e-6}}};
  const std::vector<Metric> of_gpu = gpu.learner->metrics(), of_host = host.learner->metrics();
  for (size_t k = 0; k < of_host.size(); ++k) {
    const auto bound = bounds.find(of_host[k].name);
    const Bound b = bound == bounds.end() ? Bound{1e-3, 1e-6} : bound->second;
    expect_near(of_gpu[k].value, of_host[k].value, b.relative, b.absolute, std::string(of_host[k].name));
  }
  const State gpu_state(*gpu.learner), host_state(*host.learner);
  for (const auto& [name, field] : host_state.fields) {
    if (field.type != DType::f32 || field.sharding != Sharding::replicated) continue;
    EXPECT_LE(largest_difference(gpu_state.floats(name), host_state.floats(name)), 2e-3) << name;
  }
}

inline void copy_state(Learner& to, Learner& from) {
  State(*to.learner).copy_from(State(*from.learner));
  to.learner->state_changed();
}

// Compares a learner on a GPU with one on a host, after each of `iterations` from the same state: the state is copied
// so that rounding differences do not accumulate and lead to different actions. Calls check(gpu, host) after each.
template <class Check>
void expect_learns_as_on_the_host(const LearnerOptions& options, Communicator& of_host, Communicator& of_gpu,
                                  int64_t iterations, const Check& check) {
  Learner host = on_host(options), gpu = on_gpu(options);
  EXPECT_EQ(gpu.bytes(), host.bytes());
  for (int64_t i = 0; i < iterations; ++i) {
    host.iterate(of_host, i, i + 1), gpu.iterate(of_gpu, i, i + 1);
    SCOPED_TRACE("iteration " + std::to_string(i));
    expect_same_learning(gpu, host);
    check(gpu, host);
    copy_state(gpu, host);
  }
}

// Compares recorded work with kernels that are launched one at a time, and with a second recorded run.
inline void expect_recordings_equal_single_launches(LearnerOptions options, Communicator& comm, int64_t iterations) {
  Learner recorded = on_gpu(options), again = on_gpu(options);
  options.graphs = false;
  Learner eager = on_gpu(options);
  for (Learner* learner : {&recorded, &again, &eager}) learner->iterate(comm, 0, iterations);
  EXPECT_EQ(recorded.bytes(), eager.bytes());
  EXPECT_EQ(recorded.bytes(), again.bytes());
}

// Expects that the visited state is complete: a learner that loads it after `first` iterations continues
// bit-identically.
inline void expect_continues_from_its_state(const LearnerOptions& options, Communicator& comm, int64_t first,
                                            int64_t all) {
  Learner whole = on_gpu(options), before = on_gpu(options), after = on_gpu(options);
  whole.iterate(comm, 0, all);
  before.iterate(comm, 0, first);
  copy_state(after, before);
  after.iterate(comm, first, all);
  EXPECT_EQ(after.bytes(), whole.bytes());
}

}  // namespace drl::test

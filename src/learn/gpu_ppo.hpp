// Ppo with everything on a device: environments, rollout, networks, update and all-reduce are enqueued on one stream,
// as two CUDA graphs that are replayed; the host waits once an iteration, for the numbers that it reports.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "envs/gpu_vec_env.hpp"
#include "gpu/device.hpp"
#include "learn/algorithm.hpp"
#include "learn/gpu_engine.hpp"
#include "learn/iteration_sums.hpp"
#include "learn/ppo.hpp"

namespace drl {

// The numbers that one mini-batch hands to the next, and the iteration to the host.
struct GpuPpoNumbers {
  int64_t lifetime_step;  // of the environments, at the rollout's row 0
  int64_t adam_steps;
  double learning_rate;
  int64_t iteration;
  LossSettings loss;
  AdamScale adam;
  double squared_norms[2];  // of the gradient: actor, critic
  float clip[2];            // what they are multiplied by
  LossSums sums;            // over the iteration's mini-batches
  double gradient_norm;
  int32_t bad_gradient;
};

// What the host tells an iteration.
struct GpuPpoInputs {
  int64_t iteration;
  double learning_rate;  // NaN: it stays as it is
};

class GpuPpo final : public Algorithm {
 public:
  // `envs`, `engine` and `stream` stay the caller's. Without `graphs` each iteration enqueues its kernels one by one.
  GpuPpo(const PpoOptions& options, const PolicyOptions& policy, const BatchPlan& plan, uint64_t seed, bool graphs,
         GpuVecEnv& envs, GpuEngine& engine, gpu::Stream& stream);

  void iterate(int64_t iteration, Communicator& comm, std::span<double> riders) override;
  const IterationStats& stats() const override { return stats_; }
  int64_t env_steps_per_iteration() const override { return plan_.num_envs * plan_.num_steps; }
  void visit_state(StateVisitor& visitor) override;
  void state_changed() override;
  void state_needed() override;
  // From now on, whatever the state says.
  void set_learning_rate(double learning_rate);
  // The networks, in host memory, for evaluation.
  std::span<const float> parameters() const { return {host_params_, parameters_}; }
  Normalizers normalizers() const { return {obs_normalizer_.view(), critic_normalizer_.view()}; }

 private:
  // A rollout in device memory.
  struct Rollout;
  // A normaliser's numbers in device memory.
  struct DeviceNormalizer {
    gpu::Array<float> mean, inv_std;
    gpu::Array<double> shift;
    gpu::PinnedArray<float> host_mean, host_inv_std;
    gpu::PinnedArray<double> host_shift;
    void push(const Normalizer& normalizer, const gpu::Stream& stream);
    NormalizerView view() const { return {mean.data(), inv_std.data()}; }
  };

  void prepare(size_t riders, Communicator& comm);
  void enqueue_inputs(int64_t iteration, std::span<const double> riders);
  void enqueue_collection();
  void enqueue_update(Communicator& comm);
  void enqueue_advantages();
  void enqueue_reduction(Communicator& comm);
  void enqueue_mini_batch(int epoch, int m, Communicator& comm);
  void enqueue_outputs();
  template <class Enqueue>
  void run(gpu::Graph& graph, CommStats& in_graph, Communicator& comm, Enqueue&& enqueue);
  void read_outputs(Communicator& comm, std::span<double> riders);
  Normalizers device_normalizers() const;
  void push_state();

  PpoOptions options_;
  PolicyOptions policy_;
  BatchPlan plan_;
  uint64_t seed_;
  bool graphs_;
  GpuVecEnv& envs_;
  GpuEngine& engine_;
  gpu::Stream& stream_;

  size_t parameters_;
  int64_t std_offset_, first_critic_, truncations_per_env_;
  gpu::Array<float> state_;     // parameters, then Adam's moments m and v
  gpu::Array<float> gradient_;  // [parameters + kTailSize]
  gpu::Array<GpuPpoNumbers> numbers_;
  gpu::Array<GpuPpoInputs> inputs_;
  std::shared_ptr<Rollout> rollout_;
  gpu::Array<float> low_, high_;        // the actions' bounds
  gpu::Array<int32_t> rows_;            // a mini-batch's samples
  gpu::Array<int32_t> truncations_;     // [N], of the rollout
  gpu::Array<float> truncated_obs_;     // [truncations_per_env, N, critic input]
  gpu::Array<float> truncated_values_;  // [truncations_per_env, N]
  gpu::Array<double> reduced_, scratch_;
  Normalizer obs_normalizer_, critic_normalizer_;
  DeviceNormalizer device_obs_normalizer_, device_critic_normalizer_;

  gpu::StateMirror mirror_;
  float *host_params_, *host_obs_, *host_critic_obs_ = nullptr;
  GpuPpoNumbers* host_numbers_;

  // Made by the first iteration, which knows how many riders there are.
  std::unique_ptr<ReduceLayout> at_;
  gpu::PinnedArray<double> host_reduced_;
  gpu::PinnedArray<float> host_std_;
  gpu::PinnedArray<GpuPpoInputs> host_inputs_;
  bool warm_ = false;  // one iteration was done without graphs: libraries have loaded their kernels
  gpu::Event began_, collected_, ended_;
  gpu::Graph collection_, update_;
  CommStats collection_comm_, update_comm_;
  IterationStats stats_;
};

}  // namespace drl

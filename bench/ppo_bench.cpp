// The training loop against bare libtorch: the same forward, backward and Adam work on one thread, ours with everything
// around it (environments, sampling, GAE, shuffling, clipping), libtorch's on tensors that are there already.
//   ppo_bench [iterations]        CartPole-v1, 4096 environments x 32 steps, 64-64 tanh, 5 epochs x 4 mini-batches

#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cluster/communicator.hpp"
#include "engines/torch/blas.hpp"
#include "engines/torch/torch_engine.hpp"
#include "envs/make_env.hpp"
#include "learn/ppo.hpp"

namespace {

constexpr int64_t kEnvs = 4096, kSteps = 32, kEpochs = 5, kMiniBatches = 4, kObs = 4, kActions = 2, kHidden = 64;
constexpr int64_t kSamples = kEnvs * kSteps;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// drl's whole iteration.
class OurLoop {
 public:
  OurLoop() : envs_(drl::make_env("CartPole-v1", {kEnvs, 0, 0, true})) {
    drl::PolicyOptions policy;
    policy.activation = "tanh";
    drl::PpoOptions ppo;
    engine_ = drl::make_torch_engine(drl::network_spec(envs_->spec(), policy), 1);
    const drl::BatchPlan plan{kEnvs, kSteps, 0, 1, 1, kMiniBatches};
    ppo_ = std::make_unique<drl::Ppo>(ppo, policy, plan, 0, *envs_, *engine_);
  }
  double iterate() {
    const double start = now();
    ppo_->iterate(iteration_++, *comm_, {});
    return now() - start;
  }

 private:
  std::unique_ptr<drl::Communicator> comm_ = drl::make_serial_communicator();
  std::unique_ptr<drl::VecEnv> envs_;
  std::unique_ptr<drl::Engine> engine_;
  std::unique_ptr<drl::Ppo> ppo_;
  int64_t iteration_ = 0;
};

torch::nn::Sequential mlp(int64_t outputs) {
  using torch::nn::Linear;
  return torch::nn::Sequential(Linear(kObs, kHidden), torch::nn::Tanh(), Linear(kHidden, kHidden), torch::nn::Tanh(),
                               Linear(kHidden, outputs));
}

// torch::nn networks, autograd and torch::optim::Adam on preloaded tensors; no environments, no shuffling.
class BareLibtorch {
 public:
  double iterate() {
    const double start = now();
    forward_only();
    for (int64_t epoch = 0; epoch < kEpochs; ++epoch)
      for (int64_t m = 0; m < kMiniBatches; ++m) step(m * kSamples / kMiniBatches, (m + 1) * kSamples / kMiniBatches);
    return now() - start;
  }

 private:
  // The policy of each step, and the values of all.
  void forward_only() {
    const torch::NoGradGuard guard;
    for (int64_t t = 0; t < kSteps; ++t) actor_->forward(obs_.slice(0, t * kEnvs, (t + 1) * kEnvs));
    critic_->forward(obs_);
  }

  void step(int64_t first, int64_t last) {
    const torch::Tensor obs = obs_.slice(0, first, last), advantage = advantage_.slice(0, first, last);
    const torch::Tensor log_p = torch::log_softmax(actor_->forward(obs), 1);
    const torch::Tensor log_prob = log_p.gather(1, action_.slice(0, first, last)).squeeze(1);
    const torch::Tensor ratio = torch::exp(log_prob - old_log_prob_.slice(0, first, last));
    const torch::Tensor surrogate = torch::max(-advantage * ratio, -advantage * torch::clamp(ratio, 0.8, 1.2)).mean();
    const torch::Tensor value_loss = (critic_->forward(obs).squeeze(1) - target_.slice(0, first, last)).pow(2).mean();
    const torch::Tensor entropy = -(log_p.exp() * log_p).sum(1).mean();
    adam_.zero_grad();
    (surrogate + value_loss - 0.005 * entropy).backward();
    adam_.step();
  }

  torch::Tensor random(at::IntArrayRef shape) {
    return torch::linspace(-1, 1, c10::multiply_integers(shape)).reshape(shape).contiguous();
  }
  static std::vector<torch::Tensor> join(std::vector<torch::Tensor> a, const std::vector<torch::Tensor>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  torch::nn::Sequential actor_ = mlp(kActions), critic_ = mlp(1);
  torch::optim::Adam adam_{join(actor_->parameters(), critic_->parameters()), torch::optim::AdamOptions(1e-4)};
  torch::Tensor obs_ = random({kSamples, kObs}), advantage_ = random({kSamples}), target_ = random({kSamples});
  torch::Tensor old_log_prob_ = torch::full({kSamples}, -0.6931f);
  torch::Tensor action_ = torch::zeros({kSamples, 1}, torch::kLong);
};

// Seconds of stepping alone, a rollout's worth.
double environment_seconds() {
  const auto envs = drl::make_env("CartPole-v1", {kEnvs, 0, 0, true});
  drl::Rollout rollout(envs->spec(), kSteps, kEnvs);
  envs->reset(rollout.start_row());
  for (int64_t i = 0; i < rollout.samples(); ++i)
    rollout.choice[i] = static_cast<int32_t>(drl::random_bits(0, drl::Purpose::benchmark, i, 0)[0] & 1);
  double start = 0;
  for (int64_t k = 0; k < 40 * kSteps; ++k) {
    if (k == 20 * kSteps) start = now();
    envs->step(k, rollout.row(k % kSteps));
  }
  return (now() - start) / 20;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 7;
  drl::set_math_threads(1);
  OurLoop ours;
  BareLibtorch bare;
  ours.iterate(), bare.iterate();
  std::vector<double> our_times, bare_times;
  for (int k = 0; k < iterations; ++k) our_times.push_back(ours.iterate()), bare_times.push_back(bare.iterate());
  const double our_time = median(our_times), bare_time = median(bare_times), envs = environment_seconds();
  std::printf("drl's loop              %8.1f k steps/s  (%.0f ms an iteration of %lld steps)\n",
              kSamples / our_time / 1e3, our_time * 1e3, static_cast<long long>(kSamples));
  std::printf("bare libtorch (%s) %8.1f k steps/s\n", drl::blas_library().name.c_str(), kSamples / bare_time / 1e3);
  std::printf("ratio                   %8.2f\n", bare_time / our_time);
  std::printf("environments            %8.2f %% of the iteration\n", 100 * envs / our_time);
}

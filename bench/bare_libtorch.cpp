#include "bare_libtorch.hpp"

#include <torch/torch.h>

#include <vector>

namespace drl {
namespace {

constexpr int64_t kObs = 4, kActions = 2, kHidden = 64;

torch::nn::Sequential mlp(int64_t outputs) {
  using torch::nn::Linear;
  return torch::nn::Sequential(Linear(kObs, kHidden), torch::nn::Tanh(), Linear(kHidden, kHidden), torch::nn::Tanh(),
                               Linear(kHidden, outputs));
}

torch::Tensor numbers(at::IntArrayRef shape) {
  return torch::linspace(-1, 1, c10::multiply_integers(shape)).reshape(shape).contiguous();
}

std::vector<torch::Tensor> join(std::vector<torch::Tensor> a, const std::vector<torch::Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

struct BareLibtorch::Work {
  // Computes the policy step by step, and the values of all observations at once.
  void forward_only() {
    const torch::NoGradGuard guard;
    for (int64_t t = 0; t < steps; ++t) actor->forward(obs.slice(0, t * envs, (t + 1) * envs));
    critic->forward(obs);
  }

  void mini_batch(int64_t first, int64_t last) {
    const torch::Tensor rows = obs.slice(0, first, last), gain = advantage.slice(0, first, last);
    const torch::Tensor log_p = torch::log_softmax(actor->forward(rows), 1);
    const torch::Tensor log_prob = log_p.gather(1, action.slice(0, first, last)).squeeze(1);
    const torch::Tensor ratio = torch::exp(log_prob - old_log_prob.slice(0, first, last));
    const torch::Tensor surrogate = torch::max(-gain * ratio, -gain * torch::clamp(ratio, 0.8, 1.2)).mean();
    const torch::Tensor value_loss = (critic->forward(rows).squeeze(1) - target.slice(0, first, last)).pow(2).mean();
    const torch::Tensor entropy = -(log_p.exp() * log_p).sum(1).mean();
    adam.zero_grad();
    (surrogate + value_loss - 0.005 * entropy).backward();
    adam.step();
  }

  int64_t envs, steps, epochs, mini_batches, samples = envs * steps;
  torch::nn::Sequential actor = mlp(kActions), critic = mlp(1);
  torch::optim::Adam adam{join(actor->parameters(), critic->parameters()), torch::optim::AdamOptions(1e-4)};
  torch::Tensor obs = numbers({samples, kObs}), advantage = numbers({samples}), target = numbers({samples});
  torch::Tensor old_log_prob = torch::full({samples}, -0.6931f), action = torch::zeros({samples, 1}, torch::kLong);
};

BareLibtorch::BareLibtorch(int64_t num_envs, int64_t num_steps, int64_t epochs, int64_t mini_batches)
    : work_(new Work{num_envs, num_steps, epochs, mini_batches}) {}
BareLibtorch::~BareLibtorch() = default;

void BareLibtorch::iterate() {
  Work& w = *work_;
  w.forward_only();
  const int64_t rows = w.samples / w.mini_batches;
  for (int64_t epoch = 0; epoch < w.epochs; ++epoch)
    for (int64_t m = 0; m < w.mini_batches; ++m) w.mini_batch(m * rows, (m + 1) * rows);
}

}  // namespace drl

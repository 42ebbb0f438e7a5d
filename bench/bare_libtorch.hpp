// Does the forward, backward and Adam work of PPO on CartPole-v1 in bare libtorch, on one thread: torch::nn networks
// with two layers of 64 tanh units, autograd and torch::optim::Adam on preallocated tensors, without environments and
// shuffling.
#pragma once

#include <cstdint>
#include <memory>

namespace drl {

class BareLibtorch {
 public:
  BareLibtorch(int64_t num_envs, int64_t num_steps, int64_t epochs, int64_t mini_batches);
  ~BareLibtorch();
  void iterate();

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace drl

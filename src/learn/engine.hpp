// Networks forward and backward, on raw arrays. Everything around them (GAE, permutations, epochs, all-reduce, learning
// rate, clipping, Adam) is written once, outside the engines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "envs/vec_env.hpp"
#include "learn/network.hpp"
#include "learn/normalizer.hpp"
#include "learn/ppo_loss.hpp"
#include "learn/rollout.hpp"

namespace drl {

struct MiniBatch {
  std::span<const int32_t> rows;  // samples of the rollout, indices into [T * N]
  LossSettings loss;
};

enum class ActionChoice { sample, most_probable };

class Engine {
 public:
  virtual ~Engine() = default;
  // Where the parameters lie in `params`, as network_layout.
  virtual const std::vector<ParamSlice>& layout() const = 0;
  // Fills the rollout: policy_out, std, actions, log_prob, and what the environments write, from row 0's observations
  // on. `first_step` is the environments' lifetime step of row 0.
  virtual void collect(const float* params, const Normalizers& normalizers, VecEnv& envs, uint64_t seed,
                       int64_t first_step, ActionChoice choice, Rollout& rollout) = 0;
  // The critic's values out [rows] of raw observations [rows, critic input].
  virtual void values(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows,
                      float* out) = 0;
  // Writes the gradient of the SUM of the mini-batch's losses [parameters], and behind it the tail [kTailSize].
  virtual void gradient(const float* params, const Normalizers& normalizers, const Rollout& rollout,
                        const MiniBatch& batch, float* grad_and_tail) = 0;
  virtual std::string description() const = 0;  // "libtorch 1.13.1, OpenBLAS"
};

}  // namespace drl

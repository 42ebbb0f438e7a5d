// The samples of an off-policy update: transitions from the replay buffer, copied in the order of the batch.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/replay.hpp"
#include "device/array.hpp"
#include "drl/task/spec.hpp"

namespace drl {

class TransitionBatch {
 public:
  // `rows`: samples of this rank. `mirrors`: each sample is mirrored with probability 1/2, by the task's tables.
  TransitionBatch(Queue& queue, const TaskSpec& task, int64_t rows, bool mirrors);

  // Enqueues the choice of the samples and their copies.
  void enqueue(const Replay& replay, const ReplayBatch& batch);

  // Return the numbers of the samples from `first` on: observations at the beginning and after the last step, the
  // action, the discounted rewards, and the discount of what follows (0 after a termination).
  const float* obs(int64_t first) const { return obs_.at(first); }
  const float* next_obs(int64_t first) const { return next_obs_.at(first); }
  const float* critic_obs(int64_t first) const { return critic_obs_.width > 0 ? critic_obs_.at(first) : obs(first); }
  const float* next_critic_obs(int64_t first) const {
    return critic_obs_.width > 0 ? next_critic_obs_.at(first) : next_obs(first);
  }
  const float* action(int64_t first) const { return action_.at(first); }
  const float* returns(int64_t first) const { return returns_.data() + first; }
  const float* discount(int64_t first) const { return discount_.data() + first; }

 private:
  struct Numbers {
    int64_t width = 0;
    Array<float> numbers;  // [B, width]
    const float* at(int64_t first) const { return numbers.data() + first * width; }
  };
  Array<MirroredNumber> table_of(const std::vector<MirroredNumber>& mirror) const;
  void copy(const float* from, const Array<int32_t>& rows, const Array<MirroredNumber>& table, Numbers& to);

  Queue& queue_;
  bool mirrors_;
  Array<int32_t> first_, last_;  // [B], rows of the replay buffer: of the sample and of its last step
  Array<uint8_t> mirrored_;      // [B]
  Array<float> returns_, discount_;
  Numbers obs_, next_obs_, critic_obs_, next_critic_obs_, action_;
  Array<MirroredNumber> obs_table_, critic_obs_table_, action_table_;  // empty: nothing is mirrored
};

// --- Kernels ---

// Copies rows of a replay buffer. Rows with a flag are mirrored.
struct CopySamples {
  const float* from;
  const int32_t* rows;
  const uint8_t* mirrored;
  const MirroredNumber* table;  // [width]; null: nothing is mirrored
  int64_t width;
  float* out;  // [B, width]
  DRL_HD void operator()(int64_t i) const {
    const float* x = from + static_cast<int64_t>(rows[i]) * width;
    float* to = out + i * width;
    if (table && mirrored[i]) {
      for (int64_t k = 0; k < width; ++k) to[k] = table[k].sign * x[table[k].source];
    } else {
      for (int64_t k = 0; k < width; ++k) to[k] = x[k];
    }
  }
};

}  // namespace drl

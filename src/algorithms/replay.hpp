// The replay buffer of off-policy algorithms: the last transitions of each environment, in a ring.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/rollout.hpp"
#include "device/array.hpp"
#include "device/state.hpp"
#include "drl/lanes/philox.hpp"
#include "drl/math.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// How a transition ended its episode. After a truncation, the next observation still has a value.
struct ReplayEnd {
  enum : uint8_t { goes_on, terminated, truncated };
};

// Pointers to a replay buffer's arrays, in the queue's memory. Transition number `slot` of environment i is in row
// i * capacity + slot.
struct ReplayView {
  int64_t num_envs, capacity;  // capacity: of each environment
  int64_t obs_dim, critic_obs_dim, action_size;
  float *obs, *next_obs;                // [N, capacity, obs_dim], before and after the step, not normalised
  float *critic_obs, *next_critic_obs;  // [N, capacity, critic_obs_dim]
  float *action, *reward;               // [N, capacity, action_size], [N, capacity]
  uint8_t* end;                         // [N, capacity], ReplayEnd

  // The critic's observations are the actor's if it has none of its own.
  DRL_HD int64_t critic_dim() const { return critic_obs_dim > 0 ? critic_obs_dim : obs_dim; }
};

// The transitions of a ring: the newest `filled` ones before slot `next`.
struct ReplayRange {
  int64_t filled, next;
};

class Replay {
 public:
  // `capacity`: transitions of each environment.
  Replay(Queue& queue, const TaskSpec& task, int64_t num_envs, int64_t capacity);
  // Returns the bytes of such a buffer.
  static int64_t bytes(const TaskSpec& task, int64_t num_envs, int64_t capacity);

  const ReplayView& view() const { return view_; }
  int64_t filled() const { return filled_; }  // transitions of each environment
  ReplayRange range() const { return {filled_, next_}; }
  // Enqueues the storage of row t of the rollout. Each environment's oldest transition makes room for it.
  void enqueue_add(const RolloutView& rollout, int64_t t);
  void visit_state(StateVisitor& visitor);
  // Must be called before the state is saved.
  void write_counts();
  // Must be called after the state was loaded, with the environments' current observations [N, obs_dim].
  void state_changed(const float* obs);

 private:
  Queue& queue_;
  Array<float> obs_, next_obs_, critic_obs_, next_critic_obs_, action_, reward_;
  Array<uint8_t> end_;
  ReplayView view_;
  int64_t filled_ = 0, next_ = 0;
  std::vector<int64_t> counts_;  // [N, 2]: filled_ and next_ of each environment, which are equal
};

// --- Kernels ---

// Stores the transitions of row t of a rollout in slot `slot` of each environment.
struct StoreTransitions {
  ReplayView to;
  RolloutView from;
  int64_t t, slot;
  DRL_HD void operator()(int64_t i) const {
    const int64_t sample = t * from.num_envs + i, next = sample + from.num_envs, row = i * to.capacity + slot;
    const bool truncated = from.truncated[sample] != 0;
    const int64_t last = (from.last_count[i] - 1) * from.num_envs + i;  // the episode's last observation
    copy(to.obs, row, from.obs, sample, to.obs_dim);
    copy(to.critic_obs, row, from.critic_obs, sample, to.critic_obs_dim);
    copy(to.action, row, reinterpret_cast<const float*>(from.action), sample, to.action_size);
    if (truncated) {
      copy(to.next_obs, row, from.last_obs, last, to.obs_dim);
      copy(to.next_critic_obs, row, from.last_critic_obs, last, to.critic_obs_dim);
    } else {
      copy(to.next_obs, row, from.obs, next, to.obs_dim);
      copy(to.next_critic_obs, row, from.critic_obs, next, to.critic_obs_dim);
    }
    to.reward[row] = from.reward[sample];
    to.end[row] = from.terminated[sample] ? ReplayEnd::terminated
                  : truncated             ? ReplayEnd::truncated
                                          : ReplayEnd::goes_on;
  }
  DRL_HD static void copy(float* to, int64_t to_row, const float* from, int64_t from_row, int64_t size) {
    for (int64_t k = 0; k < size; ++k) to[to_row * size + k] = from[from_row * size + k];
  }
};

// Ends the episodes whose newest transition, in slot `slot`, does not lead to the observation that the environment has
// now. They were interrupted: the run was resumed with environments that start anew.
struct CutEpisodes {
  ReplayView replay;
  int64_t slot;
  const float* obs;  // [N, obs_dim], the current ones
  DRL_HD void operator()(int64_t i) const {
    const int64_t row = i * replay.capacity + slot;
    if (replay.end[row] != ReplayEnd::goes_on) return;
    for (int64_t k = 0; k < replay.obs_dim; ++k)
      if (replay.next_obs[row * replay.obs_dim + k] != obs[i * replay.obs_dim + k])
        replay.end[row] = ReplayEnd::truncated;
  }
};

// The samples of an update. Sample number j of all ranks' batch is of shard j / (samples of a shard), and is chosen by
// (seed, j, update) only, among all transitions of that shard.
struct ReplayBatch {
  uint64_t seed;
  int64_t update;
  int64_t first_sample;  // the number of this rank's first sample in the batch of all ranks
  int64_t samples_per_shard, envs_per_shard;
  ReplayRange range;
  int n_step;
  float gamma, reward_scale;
};

// Chooses sample i of this rank, and sums its rewards: return = r_0 + gamma r_1 + ... over at most n_step steps, which
// end with the episode and at the newest transition. The rest of the return is `discount` times the value of the
// observation in row `last`; after a termination, discount is 0.
struct ChooseSamples {
  ReplayView replay;
  ReplayBatch batch;
  int32_t *first, *last;      // [B], rows of the replay buffer: of the sample and of its last step
  uint8_t* mirrored;          // [B], 0 or 1 at random
  float *returns, *discount;  // [B]
  DRL_HD void operator()(int64_t i) const {
    const Words4 bits = random_bits(batch.seed, Purpose::replay, static_cast<uint64_t>(batch.first_sample + i),
                                    static_cast<uint64_t>(batch.update));
    const int64_t env =
        i / batch.samples_per_shard * batch.envs_per_shard + below(bits[0], bits[1], batch.envs_per_shard);
    const int64_t age = below(bits[2], bits[3], batch.range.filled);  // transitions since the oldest one
    const int64_t begin = env * replay.capacity, oldest = batch.range.next - batch.range.filled + replay.capacity;
    float sum = 0, factor = 1;
    for (int64_t k = 0;; ++k) {
      const int64_t row = begin + (oldest + age + k) % replay.capacity;
      if (k == 0) first[i] = static_cast<int32_t>(row), mirrored[i] = bits[0] & 1u;
      sum += factor * (batch.reward_scale * replay.reward[row]);
      factor *= batch.gamma;
      if (replay.end[row] == ReplayEnd::goes_on && k + 1 < batch.n_step && age + k + 1 < batch.range.filled) continue;
      last[i] = static_cast<int32_t>(row);
      returns[i] = sum;
      discount[i] = replay.end[row] == ReplayEnd::terminated ? 0 : factor;
      return;
    }
  }
  // Returns a uniform number below `bound` from 64 random bits.
  DRL_HD static int64_t below(uint32_t low, uint32_t high, int64_t bound) {
    const uint64_t b = static_cast<uint64_t>(bound);  // the product's upper 64 bits; bound < 2^32
    return static_cast<int64_t>((b * high + (b * low >> 32)) >> 32);
  }
};

// Writes the critics' inputs of samples [0, B): normalised observations and then the actions, or room for them.
struct JoinInputs {
  const float* obs;     // [B, obs_dim]
  const float* action;  // [B, action_size]; null: left as they are
  int64_t obs_dim, action_size;
  NormalizerView normalizer;
  float* out;  // [B, obs_dim + action_size]
  DRL_HD void operator()(int64_t i) const {
    float* to = out + i * (obs_dim + action_size);
    for (int64_t k = 0; k < obs_dim; ++k) to[k] = normalizer(obs[i * obs_dim + k], k);
    if (action)
      for (int64_t k = 0; k < action_size; ++k) to[obs_dim + k] = action[i * action_size + k];
  }
};

}  // namespace drl

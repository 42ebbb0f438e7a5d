// The states of environments before the step that lost them (--nan_policy dump), in files that drl_eval --replay_dump
// reads.
//
// To keep the state before every step would cost time in every step. Instead, LostStates keeps the states at the start
// of each rollout. If an environment was lost in it, LostStates steps this environment again on the host, with the
// rollout's actions, up to that step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "algorithms/learner_parts.hpp"
#include "device/array.hpp"
#include "envs/one_env.hpp"
#include "store/checkpoint.hpp"

namespace drl {

inline constexpr int kMostLostStates = 100;  // in a run; each rank may write an equal share of them
inline constexpr const char* kLostStatesFolder = "lost_states";

// Finds the lost environments of one rank and writes <run>/lost_states/rank_<rank>.h5.
class LostStates final : public RolloutWatch {
 public:
  // `config` is that of this rank's environments. `isa` is the instruction set of the host's loops.
  LostStates(std::string task, EnvConfig config, Isa isa, int rank, int world_size);

  // Call before the first iteration. `attributes` of the file: task, task_library, ... `options` are the run's options
  // in the syntax of config files, `files` their contents_of().
  void write_to(const std::filesystem::path& run, std::map<std::string, Attribute> attributes, std::string options,
                std::string files = "");

  void rollout_begins(Queue& queue, VecEnv& envs, const RolloutView& rollout) override;
  // A failure is logged once, and ends the dumps but not the run.
  void rollout_ended(int64_t iteration, int64_t first_step, const RolloutView& rollout,
                     const EpisodeSums& episodes) override;

 private:
  // A field of the environments' state, and its values at the start of the rollout.
  struct Kept {
    StateField field;
    Array<std::byte> start;
  };
  using Bytes = std::vector<std::byte>;
  struct Steps;
  bool is_full() const { return count_ >= most_; }
  Bytes start_of(const Kept& kept, int64_t env) const;
  Bytes observation(const RolloutView& rollout, int64_t step, int64_t env) const;
  void find(int64_t iteration, int64_t first_step, const RolloutView& rollout, int lost);
  void repeat(const Steps& steps, int64_t env, int64_t count, int64_t iteration, const RolloutView& rollout);
  void add(std::vector<Tensor> state, int64_t environment, int64_t iteration, int64_t step);
  void read_earlier_states(int64_t iteration);

  const std::string task_;
  const EnvConfig config_;
  const Isa isa_;
  const int rank_;
  int most_;
  std::filesystem::path file_;
  std::string options_, files_;
  Checkpoint content_;
  int count_ = 0;         // states in content_
  bool is_read_ = false;  // content_ has the states of the run's earlier starts
  Queue* queue_ = nullptr;
  std::vector<Kept> kept_;
  Array<float> first_obs_;  // [N, obs_dim], row 0 of the rollout
};

// One state of such a file.
struct LostState {
  std::string task, options;  // options: in the syntax of config files
  std::string files;          // contents_of(); "" in files of earlier versions
  Isa isa{};
  int64_t environment = 0;     // global index
  int64_t iteration = 0;       // from 1
  int64_t step = 0;            // of the environment's lifetime
  int64_t of = 0;              // number of states in the file
  std::vector<Tensor> fields;  // of OneEnv::state()
  Tensor action, observation;  // [action.numbers()] as the environment received it, [obs_dim]
};

// Reads a file. Throws as read_checkpoint does.
Checkpoint read_lost_states(const std::filesystem::path& file);
// Returns state number `index` (from 0) of what was read from `file`. Throws UsageError if there is none.
LostState lost_state(const Checkpoint& states, const std::string& file, int64_t index);

// Sets the environment to the state. Throws UsageError if the task of `env` has another state, observation or action.
void restore(OneEnv& env, const LostState& state, const std::string& file);

}  // namespace drl

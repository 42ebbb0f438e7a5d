// Learning from mirrored samples, for tasks that are symmetric, with the meaning of rsl_rl's symmetry_cfg (Mittal et
// al., "Symmetry Considerations for Learning Task Symmetric Robot Policies", arXiv:2403.04359).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/options.hpp"
#include "device/array.hpp"
#include "drl/task/spec.hpp"
#include "policy/spec.hpp"

namespace drl {

// Throws UsageError if the task has no symmetry, or if the policy is recurrent. `option` is "ppo.symmetry augment".
void require_symmetry(const TaskSpec& task, bool is_recurrent, const std::string& option);

// The mirrored samples of a tile: observations of actor and critic, actions, and the mirrored outputs of the actor.
class MirroredTile {
 public:
  MirroredTile(Queue& queue, const TaskSpec& task, const PolicySpec& policy, const SymmetryUse& use, int64_t tile_rows);

  const SymmetryUse& use() const { return use_; }
  // These enqueue the computation of the mirrored numbers of samples rows[0], ..., rows[count - 1] of a rollout's
  // arrays, and return them.
  const float* observations(const float* obs, const int32_t* rows, int64_t count);
  const float* critic_observations(const float* obs, const int32_t* rows, int64_t count);
  const std::byte* actions(const std::byte* action, const int32_t* rows, int64_t count);
  // Does so for the actor's outputs of a tile.
  const float* outputs(const float* out, int64_t count);

 private:
  // A table and the numbers [tile, size] that it mirrored.
  struct Numbers {
    Numbers(Queue& queue, const std::vector<MirroredNumber>& mirror, int64_t tile_rows);
    const float* mirror(Queue& queue, const float* from, const int32_t* rows, int64_t count);
    Array<MirroredNumber> table;
    Array<float> numbers;
  };

  Queue& queue_;
  SymmetryUse use_;
  bool is_discrete_;
  Numbers obs_, critic_obs_, outputs_, actions_;
  Array<int32_t> choices_;  // [tile], of discrete actions
};

}  // namespace drl

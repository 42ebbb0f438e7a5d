// Saves, loads, broadcasts and fingerprints the fields of a state list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/state.hpp"
#include "nets/normalizer.hpp"
#include "policy/spec.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// Collective. Returns every field but those of a replay buffer as one tensor on rank 0 (per_env fields: the rows of all
// ranks by global index), and an empty list on other ranks.
std::vector<Tensor> gather_state(const StateList& state, Communicator& comm);

// Returns how the per_env fields of all ranks differ from the checkpoint's arrays, or "": another number of
// environments, or the first array that is missing or has another shape.
std::string difference_of_environments(const StateList& state, const Checkpoint& checkpoint, int world_size);

// Collective. Overwrites the fields with rank 0's tensors. The rows of per_env fields are distributed over the ranks;
// if rank 0's `environments` is false, these fields keep their values. On rank 0, call require_state first, and
// difference_of_environments.
void restore_state(const StateList& state, const Checkpoint& checkpoint, Communicator& comm, bool environments = true);

// Throws UsageError, which names the first difference, unless the checkpoint has every replicated field with the same
// type and shape, and no further weights or normaliser. `file`: name of the checkpoint, for the message. `advice`: what
// to do about it; "": a general advice.
void require_state(const StateList& state, const Checkpoint& checkpoint, const std::string& file,
                   const std::string& advice = "");
// Throws the UsageError of require_state.
[[noreturn]] void refuse_state(const std::string& file, const std::string& why, const std::string& advice);

// The parameters of a policy and the statistics of its normalisers in the memory of a queue, for those of a checkpoint.
struct PolicyMemory {
  // The arguments must outlive the memory.
  PolicyMemory(Queue& queue, const PolicySpec& spec);
  // Visits them under the names that they have in checkpoints.
  void visit_state(StateVisitor& visitor);
  // Returns the normaliser of the actor's observations with the statistics that have been loaded.
  NormalizerView normalizer() { return obs.refresh(), obs.view(); }

  Queue& queue;
  const PolicySpec& spec;
  Array<float> params;
  Normalizer obs, critic_obs;
};

// Returns the fields of weights and normaliser, which --init_from loads.
StateList policy_state(const StateList& state);

// Returns whether a checkpoint's array belongs to the critic or its normaliser.
bool is_of_critic(const std::string& name);
// Returns whether a checkpoint's array belongs to the actor, its normaliser or the curriculum, and not to the critic.
bool is_of_actor(const std::string& name);
// Returns the fields of the actor.
StateList actor_state(const StateList& state);

// Collective. Copies rank 0's replicated fields to all ranks.
void broadcast_state(const StateList& state, Communicator& comm);

// One hash per replicated field, in the order of the list.
using StateHashes = std::vector<uint64_t>;
StateHashes hash_state(const StateList& state);

// Returns a hash of the hashes, of 48 bits so that a double holds it exactly.
double fingerprint(const StateHashes& hashes);
// Collective, for fingerprints that differ. Names the ranks that differ from the majority, and the first tensor in
// which they differ. `mine`: the hashes of this rank's fingerprint. Returns the same text on all ranks.
std::string describe_divergence(const StateList& state, const StateHashes& mine, Communicator& comm);

}  // namespace drl

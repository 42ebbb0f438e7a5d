// What follows from the one list of state: saving, loading, equal starts, fingerprints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/state.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// All ranks together: every field as one tensor on rank 0 (per_env rows of all ranks by global index), an empty list
// elsewhere.
std::vector<Tensor> gather_state(const StateList& state, Communicator& comm);

// All ranks together: overwrites the fields from the tensors that rank 0 has. Environments (per_env) are dealt out anew
// over this world, to each rank its own only; if the checkpoint holds another number of them they keep their fresh
// start, and false is returned.
// Call require_state on rank 0 first.
bool restore_state(const StateList& state, const Checkpoint& checkpoint, Communicator& comm);

// Throws UsageError unless the checkpoint has each replicated field with the same type and shape, and no weights or
// normaliser besides; names the first that differs. `file` is for the message.
void require_state(const StateList& state, const Checkpoint& checkpoint, const std::string& file);

// The fields that are weights or normaliser: what --init_from takes.
StateList policy_state(const StateList& state);

// Replicated fields: rank 0's on all ranks.
void broadcast_state(const StateList& state, Communicator& comm);

// A hash of each replicated field, in the order of the list.
using StateHashes = std::vector<uint64_t>;
StateHashes hash_state(const StateList& state);

// A hash of the hashes, exact in a double (48 bits).
double fingerprint(const StateHashes& hashes);
// All ranks together, when fingerprints differ: names the ranks that are not as the majority is, and the first tensor
// in which they differ. `mine` are the hashes behind this rank's fingerprint. The text is the same on all ranks.
std::string describe_divergence(const StateList& state, const StateHashes& mine, Communicator& comm);

}  // namespace drl

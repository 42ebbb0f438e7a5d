#include "run/state.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

std::vector<int64_t> global_shape(const StateField& field, int world_size) {
  std::vector<int64_t> shape = field.shape;
  if (field.sharding == Sharding::per_env) shape[0] *= world_size;
  return shape;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + join(extents, ", ") + "]";
}

// Hashes eight bytes at a time by a multiply-xorshift; every bit of the input affects the result.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t hash) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

// Returns how the checkpoint's array differs from the field, which has this shape on all ranks together, or "".
std::string difference(const StateField& field, const std::vector<int64_t>& shape, const Tensor* tensor) {
  if (!tensor) return field.name + " is missing in the checkpoint";
  if (tensor->shape != shape)
    return fmt::format("{} is {} in the checkpoint and {} here", field.name, shape_text(tensor->shape),
                       shape_text(shape));
  if (tensor->type != field.type)
    return fmt::format("{} has the type {} in the checkpoint and {} here", field.name, name_of(tensor->type),
                       name_of(field.type));
  return "";
}

// Overwrites the field with rank 0's tensor. `tensor` is null on other ranks.
void restore_field(const StateField& field, const Tensor* tensor, Communicator& comm) {
  const std::span<const std::byte> all = tensor ? std::span(tensor->data) : std::span<const std::byte>();
  std::vector<std::byte> mine(field.bytes());
  if (field.sharding == Sharding::replicated) {
    std::ranges::copy(all, mine.begin());
    comm.broadcast(mine, 0);
  } else {
    comm.scatter(all, mine, 0);
  }
  field.write(mine);
}

bool is_policy(const std::string& name) { return name.starts_with("policy/") || name.starts_with("normalizer/"); }
// Returns whether an array only describes the policy for other programs (export/exported_policy.hpp).
bool is_description(const std::string& name) {
  return name.starts_with("policy/action/") || name.starts_with("policy/observation/") ||
         name.starts_with("policy/normalizer/");
}

}  // namespace

std::vector<Tensor> gather_state(const StateList& state, Communicator& comm) {
  std::vector<Tensor> tensors;
  for (const StateField& field : state) {
    if (field.sharding == Sharding::replay) continue;
    std::vector<std::byte> all = field.read();
    if (field.sharding != Sharding::replicated) all = comm.gather(all, 0);
    if (comm.rank() == 0) tensors.push_back({field.name, field.type, global_shape(field, comm.size()), std::move(all)});
  }
  return tensors;
}

std::string difference_of_environments(const StateList& state, const Checkpoint& checkpoint, int world_size) {
  std::string first;
  for (const StateField& field : state) {
    if (field.sharding != Sharding::per_env) continue;
    const std::vector<int64_t> shape = global_shape(field, world_size);
    const Tensor* tensor = checkpoint.find(field.name);
    if (tensor && !tensor->shape.empty() && tensor->shape[0] != shape[0])
      return fmt::format("the checkpoint has {}, and this run has {}", counted(tensor->shape[0], "environment"),
                         shape[0]);
    if (first.empty()) first = difference(field, shape, tensor);
  }
  return first;
}

void restore_state(const StateList& state, const Checkpoint& checkpoint, Communicator& comm, bool environments) {
  auto restores_environments = static_cast<uint8_t>(environments);
  comm.broadcast(std::as_writable_bytes(std::span(&restores_environments, 1)), 0);
  for (const StateField& field : state)
    if (field.sharding == Sharding::replicated || (field.sharding == Sharding::per_env && restores_environments))
      restore_field(field, comm.rank() == 0 ? checkpoint.find(field.name) : nullptr, comm);
}

void refuse_state(const std::string& file, const std::string& why, const std::string& advice) {
  throw UsageError(fmt::format("checkpoint {} does not fit these networks ({}): {}", file, why,
                               advice.empty() ? "use the task, policy and algorithm options with which it was made "
                                                "(drl_checkpoint show prints them)"
                                              : advice));
}

void require_state(const StateList& state, const Checkpoint& checkpoint, const std::string& file,
                   const std::string& advice) {
  for (const StateField& field : state) {
    if (field.sharding != Sharding::replicated) continue;
    const Tensor* tensor = checkpoint.find(field.name);
    const std::string why = difference(field, field.shape, tensor);
    if (!why.empty()) refuse_state(file, why, advice);
  }
  for (const Tensor& tensor : checkpoint.tensors)
    if (is_policy(tensor.name) && !is_description(tensor.name) &&
        std::ranges::find(state, tensor.name, &StateField::name) == state.end())
      refuse_state(file, tensor.name + " is in the checkpoint but not here", advice);
}

PolicyMemory::PolicyMemory(Queue& on, const PolicySpec& of)
    : queue(on),
      spec(of),
      params(on, static_cast<size_t>(of.layout.size())),
      obs(on, of.normalized(), of.normalizer.value_or(NormalizerRule{})),
      critic_obs(on, of.normalized_of_critic(), of.normalizer.value_or(NormalizerRule{})) {}

void PolicyMemory::visit_state(StateVisitor& visitor) {
  for (const ParamSlice& slice : spec.layout.slices())
    visitor.array(slice.name, params.data() + slice.offset, slice.shape, Sharding::replicated, &queue);
  obs.visit_state(visitor, "normalizer/obs");
  critic_obs.visit_state(visitor, "normalizer/critic_obs");
}

StateList policy_state(const StateList& state) {
  StateList list;
  for (const StateField& field : state)
    if (is_policy(field.name)) list.push_back(field);
  return list;
}

bool is_of_critic(const std::string& name) {
  return name.starts_with("policy/critic/") || name.starts_with("normalizer/critic_obs/");
}

bool is_of_actor(const std::string& name) {
  return (is_policy(name) && !is_description(name) && !is_of_critic(name)) || name.starts_with("curriculum/");
}

StateList actor_state(const StateList& state) {
  StateList list;
  for (const StateField& field : state)
    if (is_of_actor(field.name)) list.push_back(field);
  return list;
}

void broadcast_state(const StateList& state, Communicator& comm) {
  for (const StateField& field : state) {
    if (field.sharding != Sharding::replicated) continue;
    std::vector<std::byte> numbers = field.read();
    comm.broadcast(numbers, 0);
    field.write(numbers);
  }
}

StateHashes hash_state(const StateList& state) {
  StateHashes hashes;
  for (const StateField& field : state)
    if (field.sharding == Sharding::replicated) hashes.push_back(hash_bytes(field.read(), 0));
  return hashes;
}

double fingerprint(const StateHashes& hashes) {
  return static_cast<double>(hash_bytes(std::as_bytes(std::span(hashes)), 0) >> 16);
}

std::string describe_divergence(const StateList& state, const StateHashes& mine, Communicator& comm) {
  std::vector<std::string> names;
  for (const StateField& field : state)
    if (field.sharding == Sharding::replicated) names.push_back(field.name);
  const auto all = numbers<uint64_t>(comm.gather(std::as_bytes(std::span(mine)), 0));
  std::string text;
  if (comm.rank() == 0) {
    std::map<std::vector<uint64_t>, std::vector<std::string>> groups;  // ranks with equal replicas, by their hashes
    for (int rank = 0; rank < comm.size(); ++rank) {
      const auto first = all.begin() + static_cast<ptrdiff_t>(rank * mine.size());
      groups[{first, first + static_cast<ptrdiff_t>(mine.size())}].push_back(std::to_string(rank));
    }
    const auto larger = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
    // The largest group counts as correct; among groups of equal size, that of rank 0.
    auto right = std::max_element(groups.begin(), groups.end(), larger);
    if (groups.at(mine).size() == right->second.size()) right = groups.find(mine);
    std::vector<std::string> parts;
    for (auto group = groups.begin(); group != groups.end(); ++group) {
      if (group == right) continue;
      const auto differs = std::mismatch(group->first.begin(), group->first.end(), right->first.begin()).first;
      parts.push_back("rank " + join(group->second, ", ") + " in " + names[differs - group->first.begin()]);
    }
    text = join(parts, "; ");
  }
  return broadcast_text(comm, text);
}

}  // namespace drl

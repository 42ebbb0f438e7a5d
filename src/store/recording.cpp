#include "store/recording.hpp"

#include <span>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr char kFormat[] = "drl-recording";

template <class T>
Tensor tensor(const std::string& name, const std::vector<T>& values, std::vector<int64_t> shape) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {name, dtype_of<T>(), std::move(shape), {bytes.begin(), bytes.end()}};
}

// Returns the shape [rows, columns] of an array with `count` elements.
std::vector<int64_t> rows_of(size_t count, size_t rows) {
  DRL_CHECK(rows > 0 && count > 0 && count % rows == 0, "an episode's arrays have different numbers of steps");
  return {static_cast<int64_t>(rows), static_cast<int64_t>(count / rows)};
}

Tensor actions_of(const std::string& name, const EpisodeActions& actions, size_t steps) {
  const std::vector<int32_t>& choices = actions.discrete;
  if (choices.empty()) return tensor(name, actions.continuous, rows_of(actions.continuous.size(), steps));
  const std::vector<int64_t> shape = rows_of(choices.size(), steps);
  return tensor(name, choices, choices.size() == steps ? std::vector{shape[0]} : shape);
}

}  // namespace

void Recording::add(const Episode& episode) {
  const size_t steps = episode.rewards.size();
  const auto length = static_cast<int64_t>(steps);
  DRL_CHECK(episode.terminated.size() == steps && episode.truncated.size() == steps,
            "flags and rewards differ in length");
  const std::string group = fmt::format("episode_{:06}/", episodes_++);
  std::vector<Tensor>& out = content_.tensors;
  out.push_back(tensor(group + "observations", episode.observations, rows_of(episode.observations.size(), steps + 1)));
  out.push_back(actions_of(group + "actions", episode.actions, steps));
  out.push_back(actions_of(group + "policy_actions", episode.policy_actions, steps));
  out.push_back(tensor(group + "rewards", episode.rewards, {length}));
  out.push_back(tensor(group + "terminated", episode.terminated, {length}));
  out.push_back(tensor(group + "truncated", episode.truncated, {length}));
}

void Recording::write(const std::filesystem::path& path) const { write_arrays(path, kFormat, content_); }

Checkpoint read_recording(const std::filesystem::path& path) { return read_arrays(path, kFormat); }

bool is_recording(const std::filesystem::path& path) {
  try {
    read_recording(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace drl

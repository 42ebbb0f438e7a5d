#include "run/lost_states.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/check.hpp"
#include "base/failure.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "drl/math.hpp"
#include "envs/make_env.hpp"

namespace drl {
namespace {

constexpr char kFormat[] = "drl-lost-states";

std::string group_of(int64_t index) { return fmt::format("lost_{:03}/", index); }

int count_states(const Checkpoint& content) {
  int count = 0;
  while (content.find(group_of(count) + "action")) ++count;
  return count;
}

template <class T>
std::vector<T> on_host(Queue& queue, const T* from, int64_t count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  queue.copy(numbers.data(), from, numbers.size());
  queue.synchronize();
  return numbers;
}

// Limits the time of the repetitions after a rollout.
constexpr int64_t kMostRepeatedSteps = 20000;

bool is_on_gpu(const StateField& field) { return field.queue && field.queue->on_gpu(); }

}  // namespace

// The parts of a rollout that steps are repeated with, in host memory.
struct LostStates::Steps {
  Steps(Queue& queue, const RolloutView& rollout, const ActionSpace& action_space, int64_t first_lifetime_step)
      : space(action_space),
        num_envs(rollout.num_envs),
        first_step(first_lifetime_step),
        action_bytes(4 * space.numbers()),
        actions(on_host(queue, rollout.action, rollout.samples() * action_bytes)),
        terminated(on_host(queue, rollout.terminated, rollout.samples())) {}

  bool is_lost(int64_t t, int64_t env) const { return terminated[static_cast<size_t>(t * num_envs + env)] == kLost; }
  // Returns the number of steps up to the last one that lost the environment, or 0.
  int64_t to_repeat(int64_t env) const {
    int64_t steps = std::ssize(terminated) / num_envs;
    while (steps > 0 && !is_lost(steps - 1, env)) --steps;
    return steps;
  }
  // Returns the action as the environment received it, within the bounds.
  Bytes action(int64_t t, int64_t env) const {
    const auto first = actions.begin() + (t * num_envs + env) * action_bytes;
    Bytes action(first, first + action_bytes);
    for (size_t k = 0; k < space.low.size(); ++k) {
      float x = 0;
      std::memcpy(&x, &action[4 * k], 4);
      x = math::clamp(x, space.low[k], space.high[k]);
      std::memcpy(&action[4 * k], &x, 4);
    }
    return action;
  }

  const ActionSpace& space;
  const int64_t num_envs, first_step, action_bytes;
  const Bytes actions;
  const std::vector<uint8_t> terminated;
};

LostStates::LostStates(std::string task, EnvConfig config, Isa isa, int rank, int world_size)
    : task_(std::move(task)),
      config_(std::move(config)),
      isa_(isa),
      rank_(rank),
      most_(kMostLostStates / world_size + (rank < kMostLostStates % world_size)) {}

void LostStates::write_to(const std::filesystem::path& run, std::map<std::string, Attribute> attributes,
                          std::string options, std::string files) {
  file_ = run / kLostStatesFolder / fmt::format("rank_{}.h5", rank_);
  content_.attributes = std::move(attributes);
  options_ = std::move(options), files_ = std::move(files);
}

void LostStates::rollout_begins(Queue& queue, VecEnv& envs, const RolloutView& rollout) {
  if (!queue_) {
    queue_ = &queue;
    for (const StateField& field : list_state([&](StateVisitor& visitor) {
           envs.visit_state(visitor);
           envs.visit_shared_state(visitor);
         }))
      kept_.push_back(
          {field, is_on_gpu(field) ? Array<std::byte>(queue, field.bytes()) : Array<std::byte>(field.bytes())});
    first_obs_ = Array<float>(queue, static_cast<size_t>(rollout.num_envs * rollout.obs_dim));
  }
  for (Kept& kept : kept_) {
    if (is_on_gpu(kept.field)) {
      queue.copy_bytes(kept.start.data(), kept.field.data, kept.start.size());
    } else if (!kept.start.empty()) {  // the host has finished all steps of these environments
      std::memcpy(kept.start.data(), kept.field.data, kept.start.size());
    }
  }
  queue.copy(first_obs_.data(), rollout.obs, first_obs_.size());
}

void LostStates::rollout_ended(int64_t iteration, int64_t first_step, const RolloutView& rollout,
                               const EpisodeSums& episodes) {
  if (episodes.lost == 0 || file_.empty() || is_full()) return;
  try {
    read_earlier_states(iteration);
    const int before = count_;
    find(iteration, first_step, rollout, static_cast<int>(episodes.lost));
    if (count_ == before) return;
    std::filesystem::create_directory(file_.parent_path());  // not the run's directory, if that is gone
    write_arrays(file_, kFormat, content_);
    log::info("{} before steps that gave NaN or infinity {} in {}: drl_eval --replay_dump shows the steps",
              counted(count_, "state"), count_ == 1 ? "is" : "are", file_.string());
  } catch (const std::exception& error) {
    most_ = 0;
    log::error("the states of lost environments are no longer written to {} ({}): the run goes on without them",
               file_.string(), message_of(error));
  }
}

// A resumed run adds to the states of its earlier starts, but for those of iterations that it repeats.
void LostStates::read_earlier_states(int64_t iteration) {
  if (is_read_) return;
  is_read_ = true;
  if (!std::filesystem::exists(file_)) return;
  const Checkpoint earlier = read_lost_states(file_);
  for (int k = 0; k < count_states(earlier); ++k) {
    const std::string group = group_of(k);
    if (attribute<int64_t>(earlier, file_.string(), group + "iteration") > iteration) continue;
    const std::string to = group_of(count_++);
    for (Tensor tensor : earlier.tensors)
      if (tensor.name.starts_with(group)) {
        tensor.name.replace(0, group.size(), to);
        content_.tensors.push_back(std::move(tensor));
      }
    for (const auto& [name, value] : earlier.attributes)
      if (name.starts_with(group)) content_.attributes[to + name.substr(group.size())] = value;
  }
}

// Returns the values of one environment, or of the whole field if it is the same for all.
LostStates::Bytes LostStates::start_of(const Kept& kept, int64_t env) const {
  const bool per_env = kept.field.sharding == Sharding::per_env;
  const size_t bytes = per_env ? kept.start.size() / static_cast<size_t>(config_.num_envs) : kept.start.size();
  const std::byte* first = kept.start.data() + (per_env ? static_cast<size_t>(env) * bytes : 0);
  if (is_on_gpu(kept.field)) return on_host(*queue_, first, static_cast<int64_t>(bytes));
  return {first, first + bytes};
}

// Returns the observation before the step.
LostStates::Bytes LostStates::observation(const RolloutView& rollout, int64_t step, int64_t env) const {
  const float* from =
      (step == 0 ? first_obs_.data() : rollout.obs + step * rollout.num_envs * rollout.obs_dim) + env * rollout.obs_dim;
  const std::vector<float> numbers = on_host(*queue_, from, rollout.obs_dim);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

// `lost`: number of lost environments of all ranks, and so the most that this one can have.
void LostStates::find(int64_t iteration, int64_t first_step, const RolloutView& rollout, int lost) {
  const ActionSpace space = task_spec(task_, config_.setup).action;
  const Steps steps(*queue_, rollout, space, first_step);
  const int before = count_;
  int64_t left = kMostRepeatedSteps;
  for (int64_t env = 0; env < rollout.num_envs && !is_full() && count_ - before < lost; ++env)
    if (const int64_t count = steps.to_repeat(env); count > 0 && count <= left) {
      repeat(steps, env, count, iteration, rollout);
      left -= count;
    }
}

// Steps an environment again from the rollout's start, and adds the states from which it was lost.
void LostStates::repeat(const Steps& steps, int64_t env, int64_t count, int64_t iteration, const RolloutView& rollout) {
  OneEnv one(task_, config_, config_.first_global_index + env, isa_);
  for (size_t k = 0; k < kept_.size(); ++k) one.state()[k].write(start_of(kept_[k], env));
  for (int64_t t = 0; t < count && !is_full(); ++t) {
    std::vector<Tensor> state;
    if (steps.is_lost(t, env))
      for (const StateField& field : one.state()) state.push_back({field.name, field.type, field.shape, field.read()});
    const Bytes action = steps.action(t, env);
    const bool lost = one.step(steps.first_step + t, action.data()).lost;
    if (lost && !state.empty()) {
      state.push_back({"action", steps.space.discrete ? DType::i32 : DType::f32, {steps.space.numbers()}, action});
      state.push_back({"observation", DType::f32, {rollout.obs_dim}, observation(rollout, t, env)});
      add(std::move(state), config_.first_global_index + env, iteration, steps.first_step + t);
    }
    one.reset_ended();
  }
}

void LostStates::add(std::vector<Tensor> state, int64_t environment, int64_t iteration, int64_t step) {
  const std::string group = group_of(count_++);
  for (Tensor& tensor : state) {
    tensor.name = group + tensor.name;
    content_.tensors.push_back(std::move(tensor));
  }
  for (const auto& [name, value] : std::map<std::string, Attribute>{{"environment", environment},
                                                                    {"iteration", iteration + 1},
                                                                    {"lifetime_step", step},
                                                                    {"options", options_},
                                                                    {"files", files_},
                                                                    {"isa", std::string(name_of(isa_))},
                                                                    {"git_hash", std::string(kGitHash)},
                                                                    {"created", utc_time()}})
    content_.attributes[group + name] = value;
}

// --- Reading ---

Checkpoint read_lost_states(const std::filesystem::path& file) { return read_arrays(file, kFormat); }

LostState lost_state(const Checkpoint& states, const std::string& file, int64_t index) {
  const int count = count_states(states);
  if (index < 0 || index >= count)
    throw UsageError(fmt::format("{} has no state number {} (it has {}): give a smaller --index; the first is 0", file,
                                 index, counted(count, "state")));
  const std::string group = group_of(index);
  LostState state;
  state.task = attribute<std::string>(states, file, "task");
  state.options = attribute<std::string>(states, file, group + "options");
  if (states.attributes.contains(group + "files")) state.files = attribute<std::string>(states, file, group + "files");
  state.environment = attribute<int64_t>(states, file, group + "environment");
  state.iteration = attribute<int64_t>(states, file, group + "iteration");
  state.step = attribute<int64_t>(states, file, group + "lifetime_step");
  if (state.environment < 0 || state.step < 0)
    throw UsageError(file + " has a negative environment or step (it was changed): give another file");
  const auto isa = attribute<std::string>(states, file, group + "isa");
  state.isa = available_isas().back();
  for (const Isa available : available_isas())
    if (name_of(available) == isa) state.isa = available;
  state.of = count;
  for (Tensor tensor : states.tensors) {
    if (!tensor.name.starts_with(group)) continue;
    tensor.name.erase(0, group.size());
    Tensor* whole = tensor.name == "action"        ? &state.action
                    : tensor.name == "observation" ? &state.observation
                                                   : nullptr;
    if (whole) {
      *whole = std::move(tensor);
    } else {
      state.fields.push_back(std::move(tensor));
    }
  }
  return state;
}

void restore(OneEnv& env, const LostState& state, const std::string& file) {
  const auto require = [&](bool fits, const std::string& what) {
    if (!fits)
      throw UsageError(
          fmt::format("{} does not fit the task {} ({} differs, so it is of another task or of another "
                      "version of this one, or an --env. option changes it): leave that option out, or give the task "
                      "library that the run used",
                      file, state.task, what));
  };
  const ActionSpace& space = env.spec().action;
  require(state.action.type == (space.discrete ? DType::i32 : DType::f32) &&
              state.action.shape == std::vector<int64_t>{space.numbers()},
          "the action");
  require(state.observation.type == DType::f32 && state.observation.shape == std::vector<int64_t>{env.spec().obs_dim},
          "the observation");
  for (const StateField& field : env.state()) {
    const auto found = std::ranges::find(state.fields, field.name, &Tensor::name);
    require(found != state.fields.end() && found->type == field.type && found->shape == field.shape, field.name);
    field.write(found->data);
  }
  for (const Tensor& tensor : state.fields)
    require(std::ranges::find(env.state(), tensor.name, &StateField::name) != env.state().end(),
            printable(tensor.name));
}

}  // namespace drl

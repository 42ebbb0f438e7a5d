#include "export/verify.hpp"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

// Makes the header's function callable with numbers of double.
constexpr const char* kWrapper = R"(
#ifndef DRL_POLICY_STATE
#define DRL_POLICY_STATE 0
#define DRL_ACT drl_policy_act(observation, action)
#else
#define DRL_ACT drl_policy_act(&memory, observation, action)
#define DRL_HAS_STATE
#endif
void drl_call(const double *from, double *to, double *state);
void drl_call(const double *from, double *to, double *state) {
  drl_real observation[DRL_POLICY_OBSERVATIONS];
  @ action[DRL_POLICY_ACTIONS];
  int k;
#ifdef DRL_HAS_STATE
  drl_policy_state memory;
  for (k = 0; k < DRL_POLICY_STATE; ++k) memory.rnn[k] = (drl_real)state[k];
#else
  (void)state;
#endif
  for (k = 0; k < DRL_POLICY_OBSERVATIONS; ++k) observation[k] = (drl_real)from[k];
  DRL_ACT;
#ifdef DRL_HAS_STATE
  for (k = 0; k < DRL_POLICY_STATE; ++k) state[k] = memory.rnn[k];
#endif
  for (k = 0; k < DRL_POLICY_ACTIONS; ++k) to[k] = action[k];
}
int drl_observations(void);
int drl_observations(void) { return DRL_POLICY_OBSERVATIONS; }
int drl_states(void);
int drl_states(void) { return DRL_POLICY_STATE; }
int drl_actions(void);
int drl_actions(void) { return DRL_POLICY_ACTIONS; }
)";

// One episode of a recording.
struct Played {
  std::vector<double> observations, actions;  // the policy's actions, before bounds and scale
  size_t steps = 0;
};

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw UsageError("the recording " + file + " does not fit the policy (" + why +
                   "): record this policy with drl_eval --record");
}

Played read_episode(const ExportedPolicy& policy, const Checkpoint& recording, const std::string& group,
                    const std::string& file) {
  const Tensor *observations = recording.find(group + "observations"),
               *actions = recording.find(group + "policy_actions");
  if (!actions) actions = recording.find(group + "actions");  // a recording of before `policy_actions`
  if (!observations || !actions || observations->type != DType::f32 || observations->shape.size() != 2)
    refuse(file, group + " has no observations and actions");
  if (observations->shape[1] != policy.observations())
    refuse(file, fmt::format("{} observations, and the policy has {}", observations->shape[1], policy.observations()));
  if (actions->shape.empty() || actions->shape.size() > 2 || observations->shape[0] <= actions->shape[0])
    refuse(file, group + " does not have an observation before and after each action");
  const bool discrete = policy.is_discrete();
  const int64_t columns = actions->shape.size() == 1 ? 1 : actions->shape[1];
  if (columns != policy.actions() || actions->type != (discrete ? DType::i32 : DType::f32))
    refuse(file, fmt::format("{} {} actions, and the policy has {} {}", columns,
                             actions->type == DType::i32 ? "discrete" : "continuous", policy.actions(),
                             discrete ? "discrete" : "continuous"));
  return {numbers<float, double>(observations->data),
          discrete ? numbers<int32_t, double>(actions->data) : numbers<float, double>(actions->data),
          static_cast<size_t>(actions->shape[0])};
}

}  // namespace

PolicyFunction compile_header(const std::string& header) {
  const bool discrete = header.find("int *action) {") != std::string::npos;
  std::string wrapper = kWrapper;
  wrapper.replace(wrapper.find('@'), 1, discrete ? "int" : "drl_real");
  const TempFile source("drl_export_call.c", header + wrapper), library("drl_export_policy.so");
  const char* chosen = std::getenv("CC");
  const std::string compiler = chosen && *chosen ? chosen : "cc";
  const int code = run_shielded({compiler, "-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o",
                                 library.path(), "-x", "c", source.path(), "-lm"},
                                {.environment = environment_list()}, [] { return 0; });
  if (code == kNotFound) throw Error("there is no C compiler " + printable(compiler) + ": install one, or set CC");
  if (code != 0)
    throw Error(printable(compiler) + " did not compile the exported header (see above): set CC to another compiler");
  void* handle = dlopen(library.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error(std::string("the compiled header cannot be loaded: ") + dlerror());
  const auto call = reinterpret_cast<void (*)(const double*, double*, double*)>(dlsym(handle, "drl_call"));
  const auto size_of = [&](const char* name) {
    return static_cast<size_t>(reinterpret_cast<int (*)()>(dlsym(handle, name))());
  };
  return [call, inputs = size_of("drl_observations"), count = size_of("drl_actions"), states = size_of("drl_states")](
             std::span<const double> observation, std::span<double> state) {
    if (observation.size() != inputs)
      throw UsageError(fmt::format("the header takes {} observations (there are {}): give the header of this policy",
                                   inputs, observation.size()));
    if (state.size() != states)
      throw UsageError(
          fmt::format("the header has a state of {} numbers (the policy has {}): give the header of this policy",
                      states, state.size()));
    std::vector<double> action(count);
    call(observation.data(), action.data(), state.data());
    return action;
  };
}

ReplayResult replay(const ExportedPolicy& policy, const PolicyFunction& exported, const Checkpoint& recording,
                    const std::string& file) {
  if (const auto& task = attribute<std::string>(recording, file, "task"); task != policy.task)
    refuse(file, "it is of the task " + printable(task) + ", and the policy is of " + policy.task);
  ReplayResult result;
  for (;; ++result.episodes) {
    const std::string group = fmt::format("episode_{:06}/", result.episodes);
    if (!recording.find(group + "observations")) break;
    const Played episode = read_episode(policy, recording, group, file);
    const size_t inputs = static_cast<size_t>(policy.observations()), outputs = static_cast<size_t>(policy.actions());
    std::vector<double> state(static_cast<size_t>(policy.state_size()));
    for (size_t t = 0; t < episode.steps; ++t, ++result.steps) {
      const std::vector<double> found = exported(std::span(episode.observations).subspan(t * inputs, inputs), state);
      std::vector<double> wanted(&episode.actions[t * outputs], &episode.actions[t * outputs] + outputs);
      if (const auto* bound = policy.find<op::Bound>()) wanted = applied(*bound, wanted);
      for (size_t k = 0; k < outputs; ++k) {
        const double difference =
            k < found.size() ? std::abs(found[k] - wanted[k]) / std::max(1.0, std::abs(wanted[k])) : INFINITY;
        if (difference <= result.worst) continue;  // false for NaN, too
        result.worst = std::isnan(difference) ? INFINITY : difference;
        result.where = fmt::format("{} of step {} of episode {}", policy.action_names[k], t, result.episodes);
      }
    }
  }
  if (result.steps == 0) refuse(file, "it has no steps");
  return result;
}

}  // namespace drl

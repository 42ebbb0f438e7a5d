// write_update FILE [OPTION...]: trains PPO on random environments, and writes to FILE (HDF5) all numbers of the last
// iteration: rollout, advantages, and each mini-batch's samples, losses, gradient and parameters. The Python tests
// compute the same update with other programs. --ppo.X and --policy.X are drl's options.
#include <cstring>
#include <string>
#include <vector>

#include "../support/algorithm_state.hpp"
#include "../support/random_env.hpp"
#include "../support/test_engine.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "base/options.hpp"
#include "envs/wrapped_envs.hpp"
#include "nets/fused/fused_nets.hpp"
#include "store/checkpoint.hpp"

namespace drl {
namespace {

using namespace test;

struct UpdateOptionsOfTest {
  int num_envs = 8;
  int num_steps_per_env = 6;
  int iterations = 1;
  int obs = 5;
  int actions = 3;
  bool discrete = false;
  double bound = 1e9;

  void describe(OptionVisitor& v) {
    v("num_envs", num_envs, "number of environments", at_least(1));
    v("num_steps_per_env", num_steps_per_env, "number of steps", at_least(1));
    v("iterations", iterations, "number of iterations, of which the last is written", at_least(1));
    v("obs", obs, "number of observations", at_least(1));
    v("actions", actions, "number of actions, or of choices", at_least(1));
    v("discrete", discrete, "an action is a choice");
    v("bound", bound, "largest absolute value of an action", above(0));
  }
};

// Passes everything on to RandomEnv, and keeps the rewards of the last steps [num_steps, num_envs], because PPO adds
// the values of truncated episodes to those of the rollout.
class KeepRewards final : public WrappedEnvs {
 public:
  KeepRewards(TaskSpec spec, int64_t envs, int64_t steps)
      : WrappedEnvs(std::make_unique<RandomEnv>(std::move(spec), envs)),
        steps_(steps),
        rewards_(static_cast<size_t>(envs * steps)) {}
  void step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) override {
    wrapped().step(queue, step, begin, count, row);
    const int64_t first = static_cast<int64_t>(step.value()) % steps_ * num_envs() + begin;
    std::copy_n(row.reward + begin, count, rewards_.begin() + first);
  }
  const float* rewards() const { return rewards_.data(); }

 private:
  int64_t steps_;
  std::vector<float> rewards_;
};

struct Writer {
  template <class T>
  void add(const std::string& name, const T* data, std::vector<int64_t> shape) {
    Tensor tensor{name, dtype_of<T>(), std::move(shape), {}};
    size_t bytes = sizeof(T);
    for (int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
    tensor.data.resize(bytes);
    if (bytes > 0) std::memcpy(tensor.data.data(), data, bytes);
    file.tensors.push_back(std::move(tensor));
  }
  // Numbers that are laid out as parameters are.
  void add_parameters(const std::string& group, const ParamLayout& layout, const float* numbers) {
    for (const ParamSlice& slice : layout.slices()) add(group + slice.name, numbers + slice.offset, slice.shape);
  }
  void add_rollout(const RolloutView& r, const TaskSpec& task, const PolicySpec& policy) {
    const int64_t t = r.num_steps, n = r.num_envs;
    add("rollout/obs", r.obs, {t + 1, n, r.obs_dim});
    add("rollout/policy_out", r.policy_out, {t, n, r.out_size});
    if (task.action.discrete)
      add("rollout/action", reinterpret_cast<const int32_t*>(r.action), {t, n});
    else
      add("rollout/action", reinterpret_cast<const float*>(r.action), {t, n, task.action.size});
    add("rollout/log_prob", r.log_prob, {t, n});
    add("rollout/terminated", r.terminated, {t, n});
    add("rollout/truncated", r.truncated, {t, n});
    add("rollout/last_obs", r.last_obs, {r.last_rows, n, r.obs_dim});
    add("rollout/value", r.value, {t + 1, n});
    add("rollout/advantage", r.advantage, {t, n});
    add("rollout/return_target", r.return_target, {t, n});
    if (policy.actor_rnn.empty()) return;
    add("rollout/actor_state", r.actor_state, {n, policy.actor_rnn.state_size()});
    add("rollout/critic_state", r.critic_state, {n, policy.critic_rnn.state_size()});
  }

  Checkpoint file;
};

// Writes the algorithm's state, without the environments', or the part of it whose names begin with `part`.
void add_state(Writer& writer, const std::string& group, Algorithm& algorithm, const std::string& part = "") {
  for (const auto& [name, field] : AlgorithmState(algorithm).fields)
    if (name.starts_with(part)) writer.file.tensors.push_back({group + name, field.type, field.shape, field.read()});
}

void write_update(const std::string& file, const std::vector<std::string>& arguments) {
  UpdateOptionsOfTest own;
  PolicyOptions policy;
  PpoOptions ppo_options;
  policy.actor_hidden_dims = {16, 24}, policy.critic_hidden_dims = {32};
  OptionTable table;
  table.section("", "Test", own);
  table.section("policy", "Policy", policy);
  table.section("ppo", "PPO", ppo_options);
  table.apply_command_line(arguments);

  KeepRewards env(own.discrete ? categorical_task(own.obs, own.actions)
                               : gaussian_task(own.obs, own.actions, static_cast<float>(own.bound)),
                  own.num_envs, own.num_steps_per_env);
  const PolicySpec spec = policy_spec(env.spec(), policy, ppo_options.normalizer());
  const std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  const std::unique_ptr<Nets> nets = make_fused_nets(*queue, spec.layout, 1);
  const BatchPlan plan = Ppo::plan(
      ppo_options, {.num_envs = own.num_envs, .num_steps = own.num_steps_per_env, .sequences = policy.is_recurrent()},
      env.spec());
  const uint64_t seed = 1;
  LearnerParts parts{*queue, policy, plan, seed, spec, *nets, env};
  TestEngine engine([&](const ParamLayout& layout) { return make_fused_nets(*queue, layout, 1); });
  parts.engine = &engine;
  Ppo ppo(parts, ppo_options);

  Writer writer;
  const int64_t last = own.iterations - 1;
  int64_t iteration = 0;
  uint32_t update = 0;
  Listener comm([&](std::span<const float> gradient) {
    if (iteration < last) return;
    if (update == 0) writer.add_rollout(ppo.rollout(), env.spec(), spec);
    const std::string group = "update/" + std::to_string(update) + "/";
    std::vector<int32_t> rows(static_cast<size_t>(plan.rows()));
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = MiniBatches{plan, seed}.rows<float>(iteration, update, static_cast<int64_t>(i));
    writer.add(group + "rows", rows.data(), {plan.rows()});
    writer.add(group + "sums", gradient.data() + spec.layout.size(), {kLossColumns});
    writer.add_parameters(group + "gradient/", spec.layout, gradient.data());
    writer.add_parameters(group + "parameters/", spec.layout, ppo.host_parameters().data());
    add_state(writer, group, ppo, "rnd/");
    ++update;
  });
  for (; iteration <= last; ++iteration) {
    if (iteration == last) add_state(writer, "before/", ppo);
    ppo.iterate(iteration, comm);
  }
  writer.add("rollout/reward", env.rewards(), {own.num_steps_per_env, own.num_envs});
  writer.add_parameters("after/parameters/", spec.layout, ppo.host_parameters().data());
  add_state(writer, "after/", ppo, "rnd/");
  if (ppo_options.rnd.is_on()) writer.file.attributes["rnd_loss"] = metric(ppo, "rnd_loss");
  std::string names;  // in the order of the optimiser's moments
  for (const ParamSlice& slice : spec.layout.slices()) names += slice.name + "\n";
  writer.file.attributes["parameters"] = names;
  writer.file.attributes["learning_rate"] = metric(ppo, "learning_rate");
  write_arrays(file, "drl-update", writer.file);
}

}  // namespace
}  // namespace drl

int main(int count, char** arguments) { drl::write_update(arguments[1], {arguments + 2, arguments + count}); }

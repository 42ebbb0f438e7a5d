#include "policy/spec.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

// Throws UsageError unless all actions of the task have bounds.
void require_bounds(const TaskSpec& task, const std::string& distribution) {
  const ActionSpace& space = task.action;
  for (size_t k = 0; k < space.low.size(); ++k)
    if (!(std::isfinite(space.low[k]) && std::isfinite(space.high[k]) && space.low[k] < space.high[k]))
      throw UsageError(fmt::format(
          "--policy.distribution {} cannot be used with {} (the action {} of this task has no bounds): give "
          "--policy.action_limit, or use --policy.distribution gaussian",
          distribution, task.name, k < task.actions.size() ? task.actions[k].name : fmt::format("action[{}]", k)));
}

// Returns the task with bounds for its actions that have none.
TaskSpec limited(TaskSpec task, const std::optional<double>& limit) {
  const auto bound = static_cast<float>(limit.value_or(0));
  for (float& low : task.action.low)
    if (limit && !std::isfinite(low)) low = -bound;
  for (float& high : task.action.high)
    if (limit && !std::isfinite(high)) high = bound;
  return task;
}

// Returns the distribution for a task, with its sizes but without its arrays.
Distribution distribution_of(const TaskSpec& task, const PolicyOptions& options) {
  const ActionSpace& space = task.action;
  if (space.discrete) return Categorical{space.size, space.head_count()};
  if (options.state_dependent_std) {
    const bool log_std = options.std_type == "log", squashed = options.distribution == SquashedGaussian::kName;
    if (!squashed && options.distribution != Gaussian::kName)
      throw UsageError("--policy.state_dependent_std cannot be used with --policy.distribution " +
                       options.distribution + " (only Gaussians have a standard deviation): leave one of them out");
    if (squashed) require_bounds(task, options.distribution);
    const auto with_stds = [&]<class D>(D) {
      return D{.size = space.size,
               .log_std = log_std,
               .std_low = std_parameter(options.std_min, log_std),
               .std_high = std_parameter(options.std_max, log_std)};
    };
    return squashed ? Distribution(with_stds(SquashedStateGaussian{})) : with_stds(StateGaussian{});
  }
  Distribution chosen;
  for_each_distribution([&]<class D>() {
    if (D::kChoice == nullptr || options.distribution != D::kName) return;
    if (are_within_bounds(D::kOutputs)) require_bounds(task, options.distribution);
    chosen = D{.size = space.size};
  });
  return chosen;
}

NetSpec net(std::string name, int inputs, const std::vector<int>& hidden, int outputs, const PolicyOptions& options) {
  return {std::move(name), widths_of(inputs, hidden, outputs), activation_of(options.activation), options.layer_norm};
}

// Returns the task's names, or "obs[0]", "obs[1]", ... for a task without names.
std::vector<NamedNumber> named(const std::vector<NamedNumber>& by_task, const std::string& name, int count) {
  std::vector<NamedNumber> numbers = by_task;
  for (int k = 0; by_task.empty() && k < count; ++k) numbers.push_back({fmt::format("{}[{}]", name, k), ""});
  return numbers;
}

}  // namespace

const NamedDistribution* find_distribution(std::string_view name) {
  const auto* found = std::ranges::find(kDistributions, name, &NamedDistribution::name);
  return found == std::end(kDistributions) ? nullptr : found;
}

Choices distribution_choices() {
  std::vector<std::string> names;
  for (const NamedDistribution& d : kDistributions)
    if (d.choice) names.emplace_back(d.name);
  return one_of(names);
}

std::string described_distributions() {
  std::vector<std::string> parts;
  for (const NamedDistribution& d : kDistributions)
    if (d.choice) parts.push_back(fmt::format("{} ({})", d.name, d.choice));
  return join(parts, ", ");
}

std::vector<Condition> conditions_of_std() {
  std::vector<Condition> conditions;
  for (const NamedDistribution& d : kDistributions)
    if (d.outputs == Outputs::alphas_and_betas) conditions.push_back(not_with("distribution", std::string(d.name)));
  return conditions;
}

Activation activation_of(const std::string& name) {
  const auto* found = std::ranges::find(kActivations, name == "swish" ? "silu" : name);
  return static_cast<Activation>(found - std::begin(kActivations));
}

PolicySpec policy_spec(const TaskSpec& of_task, const PolicyOptions& options,
                       const std::optional<NormalizerRule>& normalizer, bool has_critic) {
  const TaskSpec task = limited(of_task, options.action_limit);
  PolicySpec spec{.layout = {},
                  .actor_rnn = {},
                  .critic_rnn = {},
                  .log_std = options.std_type == "log",
                  .distribution = distribution_of(task, options),
                  .normalizer = normalizer,
                  .critic_observations = task.critic_obs_dim,
                  .task = task.name,
                  .dt = task.dt,
                  .observations = named(task.observations, "obs", task.obs_dim),
                  .actions = named(task.actions, "action", task.action.numbers()),
                  .commands = task.commands,
                  .action = task.action};
  const auto* rnn = std::ranges::find(kRnnTypes, options.rnn_type);
  const auto type = static_cast<RnnType>(rnn - std::begin(kRnnTypes));
  // Adds recurrent layers, if any, to `rnn`. Returns the number of inputs of the layers after them.
  const auto add_recurrent = [&](const std::string& name, int inputs, RnnSpec& rnn) {
    if (type == RnnType::none) return inputs;
    rnn = add_rnn(spec.layout, name, type, inputs, options.rnn_hidden_dim, options.rnn_num_layers);
    return rnn.width;
  };
  const int actor_inputs = add_recurrent("policy/actor", task.obs_dim, spec.actor_rnn);
  spec.actor = spec.layout.add_net(
      net("policy/actor", actor_inputs, options.actor_hidden_dims, outputs(spec.distribution), options));
  if (const int free = free_parameters(spec.distribution); free > 0)
    spec.std = spec.layout.add_free(spec.log_std ? "policy/log_std" : "policy/std", {free});
  if (!has_critic) return spec;
  const int critic_inputs =
      add_recurrent("policy/critic", task.critic_obs_dim ? task.critic_obs_dim : task.obs_dim, spec.critic_rnn);
  spec.critic = spec.layout.add_net(net("policy/critic", critic_inputs, options.critic_hidden_dims, 1, options));
  return spec;
}

}  // namespace drl

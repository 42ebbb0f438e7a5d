#include "envs/grouped_envs.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

std::vector<int32_t> all_but(int64_t count, const std::vector<int32_t>& hidden) {
  std::vector<int32_t> left;
  for (int32_t k = 0; k < count; ++k)
    if (std::ranges::find(hidden, k) == hidden.end()) left.push_back(k);
  return left;
}

template <class T>
std::vector<T> selected_of(const std::vector<T>& all, const std::vector<int32_t>& index) {
  std::vector<T> some;
  for (const int32_t k : index) some.push_back(all[static_cast<size_t>(k)]);
  return some;
}

// Returns the mirror of the numbers that are left, or nothing if one of them changes places with a hidden one.
std::vector<MirroredNumber> mirror_of(const std::vector<MirroredNumber>& all, const std::vector<int32_t>& index) {
  std::vector<MirroredNumber> left;
  for (const int32_t k : index) {
    const MirroredNumber& number = all[static_cast<size_t>(k)];
    const auto source = std::ranges::find(index, number.source);
    if (source == index.end()) return {};
    left.push_back({static_cast<int32_t>(source - index.begin()), number.sign});
  }
  return left;
}

}  // namespace

void GroupOptions::describe(OptionVisitor& v) {
  v("actor_obs", actor,
    "observations that the actor sees: policy (the task's own), or critic (those of the critic, e.g. for a teacher)",
    one_of({"policy", "critic"}), added_later("policy"), changes_policy(), always);
  v("hidden_obs", hidden,
    "names of observations that the actor does not see, separated by commas, such as base_lin_vel; or none",
    added_later("none"), changes_policy(), always);
}

std::vector<int32_t> GroupOptions::hidden_numbers(const TaskSpec& task) const {
  if (hidden == "none") return {};
  if (actor == "critic")
    throw UsageError(
        "--env.actor_obs critic and --env.hidden_obs are given (the observations of the critic have no names): leave "
        "out one of them");
  std::vector<int32_t> numbers;
  std::vector<std::string> names;
  for (const NamedNumber& observation : task.observations)
    names.push_back(observation.name.substr(0, observation.name.find_first_of("[ ")));
  for (const std::string& part : split(hidden, ',')) {
    const std::string name(trim(part));
    const size_t before = numbers.size();
    for (size_t k = 0; k < names.size(); ++k)
      if (names[k] == name || task.observations[k].name == name) numbers.push_back(static_cast<int32_t>(k));
    if (numbers.size() > before) continue;
    if (names.empty())
      throw UsageError("--env.hidden_obs cannot be used (the task does not name its observations): leave it out");
    const std::string near = nearest(name, names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    throw UsageError(
        fmt::format("--env.hidden_obs {} (no observation is called {}): {}", printable(hidden), printable(name),
                    near.empty() ? "the observations are " + join(names, ", ") : "did you mean " + near + "?"));
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.size() == task.observations.size())
    throw UsageError("--env.hidden_obs " + printable(hidden) +
                     " (the actor would observe nothing): leave one observation out");
  return numbers;
}

GroupPlan GroupOptions::plan(const TaskSpec& task) const {
  GroupPlan plan{.hidden = hidden_numbers(task)};
  if (actor == "critic") plan.actor = ObservationGroup::critic;
  // A critic without observations of its own sees all of the policy's, also those that are hidden from the actor.
  if (!plan.hidden.empty() && task.critic_obs_dim == 0) plan.critic = ObservationGroup::policy;
  return plan;
}

TaskSpec GroupPlan::spec(TaskSpec task) const {
  if (!any()) return task;
  const TaskSpec own = task;
  if (actor == ObservationGroup::critic) {
    if (own.critic_obs_dim == 0)
      throw UsageError("--env.actor_obs critic cannot be used with " + own.name +
                       " (it has no observations of its own for the critic): leave it out");
    task.obs_dim = own.critic_obs_dim, task.critic_obs_dim = 0;
    task.observations.clear();
    task.mirror.obs = own.mirror.critic_obs, task.mirror.critic_obs.clear();
  } else if (!hidden.empty()) {
    const std::vector<int32_t> left = all_but(own.obs_dim, hidden);
    task.obs_dim = static_cast<int>(left.size());
    task.observations = selected_of(own.observations, left);
    if (!own.mirror.empty()) task.mirror.obs = mirror_of(own.mirror.obs, left);
    if (task.mirror.obs.empty()) task.mirror = {};
  }
  const bool sees_critic = critic == ObservationGroup::critic && own.critic_obs_dim > 0;
  if (critic) {
    const std::vector<int32_t> seen =
        all_but(critic == ObservationGroup::critic ? own.critic_obs_dim : own.obs_dim, hidden_from_critic);
    task.critic_obs_dim = static_cast<int>(seen.size());
    if (!task.mirror.empty()) {
      const std::vector<MirroredNumber>& all = sees_critic ? own.mirror.critic_obs : own.mirror.obs;
      task.mirror.critic_obs = hidden_from_critic.empty() ? all : mirror_of(all, seen);
      if (!hidden_from_critic.empty() && task.mirror.critic_obs.empty()) task.mirror = {};
    }
  }
  return task;
}

std::unique_ptr<VecEnv> GroupPlan::wrap(std::unique_ptr<VecEnv> envs, const EnvConfig&, Queue& queue) const {
  return std::make_unique<GroupedEnvs>(std::move(envs), *this, queue);
}

GroupedEnvs::GroupedEnvs(std::unique_ptr<VecEnv> envs, const GroupPlan& plan, Queue& queue)
    : WrappedEnvs(std::move(envs)), queue_(queue), spec_(plan.spec(wrapped().spec())) {
  const TaskSpec& own = wrapped().spec();
  policy_.width = own.obs_dim, critic_.width = own.critic_obs_dim;
  passes_critic_ = plan.actor == ObservationGroup::policy && !plan.critic;
  for (Group* g : {&policy_, &critic_}) g->now = Array<float>(queue, static_cast<size_t>(num_envs() * g->width));
  const auto view = [&](ObservationGroup which, const std::vector<int32_t>& without) {
    const std::vector<int32_t> numbers = all_but(group(which).width, without);
    View made{which, Array<int32_t>(queue, numbers.size())};
    queue.copy(made.index.data(), numbers.data(), numbers.size());
    queue.synchronize();
    return made;
  };
  actor_view_ = view(plan.actor, plan.hidden);
  critic_view_ = view(plan.critic.value_or(ObservationGroup::critic), plan.hidden_from_critic);
  if (spec_.critic_obs_dim == 0 || passes_critic_) critic_view_.index = Array<int32_t>(queue, 0);
}

SelectedNumbers GroupedEnvs::selected(const View& view) {
  const Group& from = group(view.group);
  if (view.index.empty()) return {};
  return {from.now.data(), from.last.data(), view.index.data(), from.width, static_cast<int64_t>(view.index.size())};
}

StepRow GroupedEnvs::inner(StepRow row) {
  for (Group* g : {&policy_, &critic_})
    if (const auto size = static_cast<size_t>(row.last_rows * num_envs() * g->width); g->last.size() < size)
      g->last = Array<float>(queue_, size);
  row.next_obs = policy_.now.data(), row.last_obs = policy_.last.data();
  if (passes_critic_) return row;
  row.next_critic_obs = critic_.width > 0 ? critic_.now.data() : nullptr;
  row.last_critic_obs = critic_.width > 0 ? critic_.last.data() : nullptr;
  return row;
}

void GroupedEnvs::reset(Queue& queue, const StepRow& row, const Start& start) {
  wrapped().reset(queue, inner(row), start);
  for_each(queue, num_envs(), SelectGroups{selected(actor_view_), selected(critic_view_), row, num_envs()});
}

void GroupedEnvs::step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  wrapped().step(queue, step, begin, count, inner(row));
  for_each(queue, begin, begin + count, SelectGroups{selected(actor_view_), selected(critic_view_), row, num_envs()});
}

}  // namespace drl

// The wrappers that options put around the environments of any task.
#pragma once

#include <tuple>
#include <utility>

#include "envs/delayed_envs.hpp"
#include "envs/grouped_envs.hpp"

namespace drl {

// The options of all wrappers, the innermost one first (recipe: docs/code.md). Each has describe(), for the section
// "env", and plan(task), which throws UsageError if the options do not fit the task. A plan has any(), which says
// whether environments are wrapped, spec(task), the task as a learner then sees it, and wrap(envs, config, queue).
using WrapperOptions = std::tuple<DelayOptions, GroupOptions>;

template <class... Options>
std::tuple<typename Options::Plan...> plans_of(const std::tuple<Options...>& wrappers, const TaskSpec& task) {
  return std::apply([&](const auto&... each) { return std::tuple{each.plan(task)...}; }, wrappers);
}
using WrapperPlans = decltype(plans_of(WrapperOptions(), TaskSpec()));

}  // namespace drl

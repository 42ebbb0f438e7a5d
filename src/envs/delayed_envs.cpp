#include "envs/delayed_envs.hpp"

#include <algorithm>

#include "device/for_each.hpp"
#include "envs/task_envs.hpp"

namespace drl {
namespace {

size_t size_of(int64_t a, int64_t b = 1, int64_t c = 1) { return static_cast<size_t>(a * b * c); }

}  // namespace

DelayedEnvs::Line::Line(const DelayRange& given, int64_t numbers, int64_t envs, Queue& queue)
    : range(given), width(numbers), num_envs(envs) {
  if (!range.any()) return;
  delay = Array<int32_t>(queue, size_of(envs));
  values = Array<float>(queue, size_of(envs, range.high + 1, width));
  shown = Array<float>(queue, size_of(envs, width));
}

DelayLine DelayedEnvs::Line::view() {
  if (!range.any()) return {.width = width};
  return {.width = width,
          .slots = range.high + 1,
          .low = range.low,
          .high = range.high,
          .hold = range.hold,
          .delay = delay.data(),
          .values = values.data(),
          .shown = shown.data()};
}

void DelayedEnvs::Line::visit_state(StateVisitor& visitor, const std::string& name, bool is_discrete, Queue& queue) {
  if (!range.any()) return;
  const auto per_env = [&](const std::string& part, auto* data, int64_t numbers) {
    visitor.array("env/delay/" + name + part, data, {num_envs, numbers}, Sharding::per_env, &queue);
  };
  per_env("/steps", delay.data(), 1);
  if (is_discrete) {
    per_env("/values", reinterpret_cast<int32_t*>(values.data()), (range.high + 1) * width);
    per_env("/shown", reinterpret_cast<int32_t*>(shown.data()), width);
  } else {
    per_env("/values", values.data(), (range.high + 1) * width);
    per_env("/shown", shown.data(), width);
  }
}

std::unique_ptr<VecEnv> DelayPlan::wrap(std::unique_ptr<VecEnv> envs, const EnvConfig& config, Queue& queue) const {
  return std::make_unique<DelayedEnvs>(std::move(envs), *this, config, queue);
}

DelayedEnvs::DelayedEnvs(std::unique_ptr<VecEnv> envs, const DelayPlan& plan, const EnvConfig& config, Queue& queue)
    : WrappedEnvs(std::move(envs)),
      queue_(queue),
      seed_(config.seed),
      first_global_index_(config.first_global_index),
      action_(plan.action, spec().action.numbers(), num_envs(), queue),
      observation_(plan.observation, spec().obs_dim, num_envs(), queue),
      age_(queue, size_of(num_envs())) {
  if (plan.action.any()) delivered_ = Array<float>(queue, size_of(num_envs(), spec().action.numbers()));
  const std::vector<float>& error_bounds = plan.error_bounds;
  if (plan.observation.any() || !error_bounds.empty()) raw_ = Array<float>(queue, size_of(num_envs(), spec().obs_dim));
  if (error_bounds.empty()) return;
  errors_ = Array<float>(queue, size_of(num_envs(), spec().obs_dim));
  error_bounds_ = Array<float>(queue, error_bounds.size());
  queue.copy(error_bounds_.data(), error_bounds.data(), error_bounds.size());
  queue.synchronize();
}

Delays DelayedEnvs::delays() {
  return {.action = action_.view(),
          .observation = observation_.view(),
          .seed = seed_,
          .num_envs = num_envs(),
          .first_global_index = first_global_index_,
          .age = age_.data(),
          .delivered = delivered_.data(),
          .raw = raw_.data(),
          .error_bounds = error_bounds_.data(),
          .errors = errors_.data()};
}

StepRow DelayedEnvs::inner(StepRow row) {
  if (!delivered_.empty()) row.action = delivered_.data();
  if (!raw_.empty()) row.next_obs = raw_.data();
  return row;
}

void DelayedEnvs::reset(Queue& queue, const StepRow& row, const Start& start) {
  wrapped().reset(queue, inner(row), start);
  for_each(queue, num_envs(), BeginDelays{delays(), row, start.step, start.group_size});
}

void DelayedEnvs::announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  if (!steps_on_host()) return;
  if (!delivered_.empty())
    for_each(queue, begin, begin + count, DelayActions{delays(), static_cast<const float*>(row.action), step});
  announced_.push_back(begin);
  wrapped().announce_step(queue, step, begin, count, inner(row));
}

void DelayedEnvs::step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  const bool is_announced = steps_on_host() && std::erase(announced_, begin) > 0;
  if (!is_announced && !delivered_.empty())
    for_each(queue, begin, begin + count, DelayActions{delays(), static_cast<const float*>(row.action), step});
  wrapped().step(queue, step, begin, count, inner(row));
  for_each(queue, begin, begin + count, DelayObservations{delays(), row, step});
}

void DelayedEnvs::visit_state(StateVisitor& visitor) {
  wrapped().visit_state(visitor);
  visitor.array("env/delay/age", age_.data(), {num_envs()}, Sharding::per_env, &queue_);
  action_.visit_state(visitor, "action", spec().action.discrete, queue_);
  observation_.visit_state(visitor, "observation", false, queue_);
  if (!errors_.empty())
    visitor.array("env/delay/sensor_error", errors_.data(), {num_envs(), spec().obs_dim}, Sharding::per_env, &queue_);
}

}  // namespace drl

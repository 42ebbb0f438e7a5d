#include "algorithms/collector.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace drl {
namespace {

// Returns half of the environments, rounded up to whole units that can be stepped separately.
int64_t half(int64_t num_envs) {
  const int64_t unit = VecEnv::kRangeUnit, units = (num_envs + unit - 1) / unit;
  return (units + 1) / 2 * unit;
}

}  // namespace

Collector::Collector(Actor& actor, VecEnv& envs, Rollout& rollout, const ActionSource& source)
    : actor_(actor), envs_(envs), rollout_(rollout), source_(source) {
  DRL_CHECK(rollout.view().out_size == actor.outputs(), "a rollout has room for the actor's outputs");
  actor_.begin_episodes(rollout.view().num_envs);
}

void Collector::begin() {
  rollout_.begin();
  actor_.begin();
}

void Collector::step(const int64_t* first_step, int64_t t, ActionChoice choice) {
  const int64_t num_envs = rollout_.view().num_envs;
  const StepRow row = rollout_.row(t);
  const LifetimeStep step{first_step, t};
  ActionSource source = source_;
  source.choice = choice;
  for (int64_t begin = 0; begin < num_envs; begin += actor_.tile()) {
    const int64_t count = std::min(actor_.tile(), num_envs - begin);
    actor_.act(rollout_.action_row(t), source, step, begin, count);
    envs_.announce_step(rollout_.queue(), step, begin, count, row);
    envs_.step(rollout_.queue(), step, begin, count, row);
    actor_.end_step(row.terminated, row.truncated, begin, count);
  }
  if (each_step_) each_step_();
}

// Works tile by tile, so that a step's output is still in the cache when it is read. If the host steps the environments
// for a policy on a GPU, both work at once: there are at least two tiles, and the next actions of a tile are enqueued
// before the following tile is stepped.
void Collector::collect(const int64_t* first_step) {
  Queue& queue = rollout_.queue();
  const RolloutView& r = rollout_.view();
  const bool overlap = envs_.steps_on_host();
  const int64_t tile = overlap ? std::min(actor_.tile(), half(r.num_envs)) : actor_.tile();
  begin();
  const auto act = [&](int64_t t, int64_t begin, int64_t count) {
    const LifetimeStep step{first_step, t};
    actor_.act(rollout_.action_row(t), source_, step, begin, count);
    envs_.announce_step(queue, step, begin, count, rollout_.row(t));
  };
  for (int64_t t = 0; t < r.num_steps; ++t) {
    const StepRow row = rollout_.row(t);
    if (overlap && t == 0)
      for (int64_t begin = 0; begin < r.num_envs; begin += tile) act(0, begin, std::min(tile, r.num_envs - begin));
    for (int64_t begin = 0; begin < r.num_envs; begin += tile) {
      const int64_t count = std::min(tile, r.num_envs - begin);
      if (!overlap) actor_.act(rollout_.action_row(t), source_, {first_step, t}, begin, count);
      envs_.step(queue, {first_step, t}, begin, count, row);
      actor_.end_step(row.terminated, row.truncated, begin, count);
      if (overlap && t + 1 < r.num_steps) act(t + 1, begin, count);
    }
    if (each_step_) each_step_();
  }
}

}  // namespace drl

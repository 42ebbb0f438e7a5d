// The kernels of DelayedEnvs (envs/delayed_envs.hpp).
#pragma once

#include <cstdint>

#include "drl/lanes/philox.hpp"
#include "drl/task/step_row.hpp"

namespace drl {

// Delays the actions or the observations of N environments. A value that enters in step t of an episode comes out in
// step t + delay. Until then, the episode's first value comes out.
struct DelayLine {
  int64_t width = 0, slots = 0;  // numbers of a value; the longest delay plus 1, or 0: nothing is delayed
  int32_t low = 0, high = 0;     // steps, the range from which an episode draws its delay
  float hold = 0;                // the probability that a step shows what the previous step showed
  int32_t* delay = nullptr;      // [N], steps
  float* values = nullptr;       // [N, slots, width], value t in slot t % slots; int32 numbers of discrete actions
  float* shown = nullptr;        // [N, width]

  // Stores value t of environment i, and returns the one to show. `word` are random bits. `shown` is up to date.
  DRL_HD const float* pass(int64_t i, int32_t t, const float* value, uint32_t word) const {
    if (slots == 0) return value;
    float *own = values + i * slots * width, *now = shown + i * width;
    const int64_t at = t > 0 ? t : 0;  // the age in a checkpoint may be any number
    for (int64_t k = 0; k < width; ++k) own[at % slots * width + k] = value[k];
    if (at == 0 || !(uniform01(word) < hold)) {
      const float* from = own + (at > delay[i] ? at - delay[i] : 0) % slots * width;
      for (int64_t k = 0; k < width; ++k) now[k] = from[k];
    }
    return now;
  }
  DRL_HD void draw(int64_t i, uint32_t word) const {
    delay[i] = low + static_cast<int32_t>(multiply_high(word, static_cast<uint32_t>(high - low + 1)));
  }
};

struct Delays {
  DelayLine action, observation;
  uint64_t seed;
  int64_t num_envs, first_global_index;
  int32_t* age;      // [N], steps of the episode
  float* delivered;  // [N, action.width], the actions that the environments receive
  const float* raw;  // [N, observation.width], the observations before the delay; null: they are passed on unchanged
  // The errors of sensors, which are added to the observations: the range of each number [observation.width, 2], and
  // the errors of an episode [N, observation.width]; null: none.
  const float* error_bounds;
  float* errors;

  // Random bits of a step of the environment's lifetime: `block` 0 for the delays of an episode, 1 for the step, and
  // from 2 on for the errors.
  DRL_HD Words4 bits(int64_t index, uint64_t step, uint32_t block) const {
    return random_bits(seed, Purpose::delay, static_cast<uint64_t>(index), step, block);
  }
  // Begins an episode, whose first observation is in `raw`, and writes that to `obs`.
  DRL_HD void begin(int64_t i, int64_t index, uint64_t step, float* obs) const {
    const Words4 words = bits(index, step, 0);
    age[i] = 0;
    if (action.slots > 0) action.draw(i, words[0]);
    if (observation.slots > 0) observation.draw(i, words[1]);
    if (errors) draw_errors(i, index, step);
    if (raw) show(i, observation.pass(i, 0, raw + i * observation.width, 0), obs);
  }
  // Writes what environment i's actor sees to row `i` of obs.
  DRL_HD void show(int64_t i, const float* value, float* obs) const { show_at(i, value, obs + i * observation.width); }
  DRL_HD void show_at(int64_t i, const float* value, float* to) const {
    for (int64_t k = 0; k < observation.width; ++k)
      to[k] = errors ? value[k] + errors[i * observation.width + k] : value[k];
  }
  DRL_HD void draw_errors(int64_t i, int64_t index, uint64_t step) const {
    Words4 words{};
    for (int64_t k = 0; k < observation.width; ++k) {
      if (k % 4 == 0) words = bits(index, step, static_cast<uint32_t>(2 + k / 4));
      const float low = error_bounds[2 * k], high = error_bounds[2 * k + 1];
      errors[i * observation.width + k] = low + (high - low) * uniform01(words[static_cast<int>(k % 4)]);
    }
  }
};

// Begins the first episodes of all environments.
struct BeginDelays {
  Delays delays;
  StepRow row;
  LifetimeStep step;
  int64_t group_size;
  DRL_HD void operator()(int64_t i) const {
    const int64_t index = delays.first_global_index + i;
    delays.begin(i, group_size > 0 ? index / group_size : index, step.value(), row.next_obs);
  }
};

// Passes the actions of a step on.
struct DelayActions {
  Delays delays;
  const float* action;  // [N, action.width]
  LifetimeStep step;
  DRL_HD void operator()(int64_t i) const {
    const int64_t width = delays.action.width;
    const uint32_t word = delays.bits(delays.first_global_index + i, step.value(), 1)[0];
    const float* now = delays.action.pass(i, delays.age[i], action + i * width, word);
    for (int64_t k = 0; k < width; ++k) delays.delivered[i * width + k] = now[k];
  }
};

// Passes the observations after a step on, and begins the next episodes of environments whose episode ended.
struct DelayObservations {
  Delays delays;
  StepRow row;
  LifetimeStep step;
  DRL_HD void operator()(int64_t i) const {
    const int64_t index = delays.first_global_index + i;
    const uint32_t word = delays.bits(index, step.value(), 1)[1];
    const DelayLine& line = delays.observation;
    const int32_t age = ++delays.age[i];
    if (row.terminated[i] || row.truncated[i]) {
      if (delays.raw) delay_last(i, age, word);
      delays.begin(i, index, step.value() + 1, row.next_obs);
    } else if (delays.raw) {
      delays.show(i, line.pass(i, age, delays.raw + i * line.width, word), row.next_obs);
    }
  }

 private:
  // Replaces the last observation of an episode, if the step has stored it. That of a lost environment stays 0.
  DRL_HD void delay_last(int64_t i, int32_t age, uint32_t word) const {
    if (!row.last_count || !(row.truncated[i] || row.every_end) || row.terminated[i] == kLost) return;
    const int64_t stored = row.last_count[i] - 1, width = delays.observation.width;
    if (stored < 0 || stored >= row.last_rows) return;
    float* last = row.last_obs + (stored * delays.num_envs + i) * width;
    delays.show_at(i, delays.observation.pass(i, age, last, word), last);
  }
};

}  // namespace drl

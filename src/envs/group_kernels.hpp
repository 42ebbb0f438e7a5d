// The kernels of GroupedEnvs (envs/grouped_envs.hpp).
#pragma once

#include <cstdint>

#include "drl/task/step_row.hpp"

namespace drl {

// Numbers that are copied from observations of `width` numbers, to rows of `count` numbers.
struct SelectedNumbers {
  const float* from = nullptr;       // [N, width]; null: nothing is copied, because the numbers are where they belong
  const float* last_from = nullptr;  // [last_rows, N, width]
  const int32_t* index = nullptr;    // [count]
  int64_t width = 0, count = 0;

  DRL_HD void copy(const float* rows, int64_t from_row, float* to) const {
    for (int64_t k = 0; k < count; ++k) to[from_row * count + k] = rows[from_row * width + index[k]];
  }
};

// Copies what actor and critic observe after a step, and the last observation of an episode that has just ended.
struct SelectGroups {
  SelectedNumbers actor, critic;
  StepRow row;
  int64_t num_envs;
  DRL_HD void operator()(int64_t i) const {
    if (actor.from) actor.copy(actor.from, i, row.next_obs);
    if (critic.from) critic.copy(critic.from, i, row.next_critic_obs);
    if (!row.last_count || !(row.truncated[i] || (row.every_end && row.terminated[i]))) return;
    const int64_t k = row.last_count[i] - 1, at = k * num_envs + i;
    if (k < 0 || k >= row.last_rows) return;
    if (actor.from) actor.copy(actor.last_from, at, row.last_obs);
    if (critic.from) critic.copy(critic.last_from, at, row.last_critic_obs);
  }
};

}  // namespace drl

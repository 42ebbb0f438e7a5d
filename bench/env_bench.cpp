// env_bench [task] [num_envs]: environment steps per second on one core, with random actions made in advance and the
// rows of a rollout written in turn.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/philox.hpp"
#include "envs/make_env.hpp"

namespace drl {
namespace {

constexpr int64_t kRows = 32;

// [kRows, N, ...] as a rollout holds them.
struct Rows {
  Rows(const TaskSpec& spec, int64_t num_envs)
      : n(num_envs),
        obs_dim(spec.obs_dim),
        obs((kRows + 1) * n * obs_dim),
        final_obs(kRows * n * obs_dim),
        reward(kRows * n),
        terminated(kRows * n),
        truncated(kRows * n) {}

  StepRow at(int64_t t, const void* action) {
    return {action,
            &obs[t * n * obs_dim],
            nullptr,
            &reward[t * n],
            &terminated[t * n],
            &truncated[t * n],
            &final_obs[t * n * obs_dim],
            nullptr};
  }

  int64_t n, obs_dim;
  std::vector<float> obs, final_obs, reward;
  std::vector<uint8_t> terminated, truncated;
};

float random01(int64_t index, int64_t step) {
  return uniform01(random_bits(1, Purpose::benchmark, static_cast<uint64_t>(index), static_cast<uint64_t>(step))[0]);
}

std::vector<int32_t> discrete_actions(const ActionSpace& space, int64_t n) {
  std::vector<int32_t> actions(kRows * n);
  for (int64_t i = 0; i < kRows * n; ++i) actions[i] = static_cast<int32_t>(random01(i, 0) * space.size);
  return actions;
}

std::vector<float> continuous_actions(const ActionSpace& space, int64_t n) {
  std::vector<float> actions(kRows * n * space.size);
  for (size_t i = 0; i < actions.size(); ++i) {
    const size_t d = i % space.size;
    actions[i] = space.low[d] + (space.high[d] - space.low[d]) * random01(i, 0);
  }
  return actions;
}

// Steps per second over about a second, after one round to warm up.
template <class Action>
double measure(VecEnv& env, const std::vector<Action>& actions) {
  using Clock = std::chrono::steady_clock;
  const int64_t n = env.num_envs(), stride = static_cast<int64_t>(actions.size()) / kRows;
  Rows rows(env.spec(), n);
  env.reset(rows.at(0, nullptr));
  int64_t step = 0;
  const auto round = [&] {
    for (int64_t t = 0; t < kRows; ++t) env.step(step++, rows.at(t, &actions[t * stride]));
  };
  round();
  const Clock::time_point start = Clock::now();
  const int64_t first = step;
  double seconds = 0;
  while (seconds < 1) {
    round();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return static_cast<double>((step - first) * n) / seconds;
}

void run(const std::string& task, int64_t num_envs) {
  const auto env = make_env(task, {.num_envs = num_envs, .seed = 1});
  const ActionSpace& space = env->spec().action;
  const double rate = space.discrete ? measure(*env, discrete_actions(space, num_envs))
                                     : measure(*env, continuous_actions(space, num_envs));
  std::printf("%-26s %6ld environments  %7.1f M steps/s\n", task.c_str(), static_cast<long>(num_envs), rate / 1e6);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> tasks = argc > 1 ? std::vector<std::string>{argv[1]} : drl::task_names();
    const int64_t num_envs = argc > 2 ? std::stoll(argv[2]) : 4096;
    for (const std::string& task : tasks) drl::run(task, num_envs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "env_bench: %s\n", error.what());
    return drl::kUsage;
  }
}

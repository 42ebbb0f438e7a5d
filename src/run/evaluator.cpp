#include "run/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "envs/make_env.hpp"

namespace drl {
namespace {

constexpr uint64_t kEvaluationKey = uint64_t{1} << 63;  // no seed of a training has this bit
constexpr int64_t kStepsAtATime = 16;

// Follows every environment through the rows of a rollout until it has played its share.
class EpisodeCollector {
 public:
  EpisodeCollector(const EvaluationPlan& plan, const ActionSpace& space,
                   const std::function<void(const Episode&)>& on_episode)
      : share_((plan.episodes + plan.num_envs - 1) / plan.num_envs),
        space_(space),
        on_episode_(on_episode),
        open_(plan.num_envs),
        played_(plan.num_envs, 0) {}

  bool done() const { return finished_ == static_cast<int64_t>(played_.size()); }

  void take(const Rollout& rollout) {
    for (int64_t env = 0; env < rollout.num_envs; ++env)
      for (int64_t t = 0; t < rollout.num_steps && played_[env] < share_; ++t) take_step(rollout, env, t);
  }

  Evaluation result;

 private:
  void take_step(const Rollout& r, int64_t env, int64_t t) {
    Open& open = open_[env];
    const int64_t i = t * r.num_envs + env;
    open.reward += r.reward[i];
    open.length += 1;
    if (on_episode_) record(r, i, open.episode);
    if (!r.terminated[i] && !r.truncated[i]) return;
    result.returns.push_back(open.reward);
    result.lengths.push_back(open.length);
    if (on_episode_) {
      append(open.episode.observations, r.final_obs.data() + i * r.obs_dim, r.obs_dim);
      on_episode_(open.episode);
    }
    open = {};
    finished_ += ++played_[env] == share_;
  }

  static void append(std::vector<float>& to, const float* from, int64_t n) { to.insert(to.end(), from, from + n); }

  void record(const Rollout& r, int64_t i, Episode& episode) const {
    append(episode.observations, r.obs.data() + i * r.obs_dim, r.obs_dim);
    if (r.discrete) episode.discrete_actions.push_back(r.choice[i]);
    for (int64_t k = 0; k < (r.discrete ? 0 : r.action_size); ++k)
      episode.actions.push_back(std::clamp(r.action[i * r.action_size + k], space_.low[k], space_.high[k]));
    episode.rewards.push_back(r.reward[i]);
    episode.terminated.push_back(r.terminated[i]);
    episode.truncated.push_back(r.truncated[i]);
  }

  struct Open {
    double reward = 0;
    int64_t length = 0;
    Episode episode;
  };
  int64_t share_;
  ActionSpace space_;
  const std::function<void(const Episode&)>& on_episode_;
  std::vector<Open> open_;       // [num_envs]
  std::vector<int64_t> played_;  // [num_envs], episodes
  int64_t finished_ = 0;         // environments that have played their share
};

}  // namespace

template <class T>
Summary summarize(const std::vector<T>& values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (T value : values) squares += (value - mean) * (value - mean);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0, static_cast<double>(*low),
          static_cast<double>(*high)};
}
template Summary summarize(const std::vector<double>&);
template Summary summarize(const std::vector<int64_t>&);

Evaluation evaluate(const EvaluationPlan& plan, Engine& engine, const float* params, const Normalizers& normalizers,
                    const std::function<void(const Episode&)>& on_episode) {
  DRL_CHECK(plan.episodes > 0 && plan.num_envs > 0, "an evaluation of nothing");
  const uint64_t seed = plan.seed | kEvaluationKey;
  const std::unique_ptr<VecEnv> envs = make_env(plan.task, {plan.num_envs, 0, seed, false});
  Rollout rollout(envs->spec(), kStepsAtATime, plan.num_envs);
  EpisodeCollector collector(plan, envs->spec().action, on_episode);
  envs->reset(rollout.start_row());
  for (int64_t step = 0; !collector.done(); step += kStepsAtATime) {
    engine.collect(params, normalizers, *envs, seed, step, plan.choice, rollout);
    collector.take(rollout);
    rollout.roll_over();
  }
  return collector.result;
}

}  // namespace drl

#include "run/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "base/check.hpp"
#include "device/reduce.hpp"
#include "envs/make_env.hpp"

namespace drl {
namespace {

constexpr uint64_t kEvaluationKey = uint64_t{1} << 63;  // no training seed has this bit
constexpr int64_t kStepsAtATime = 16;

// Collects the episodes of every environment from rollouts until it has played its share.
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

  // Keeps the actions that all environments received in step t of a rollout.
  void take_received(const void* actions, int64_t t) {
    const size_t bytes = 4 * static_cast<size_t>(space_.numbers()) * open_.size();
    received_.resize(kStepsAtATime * bytes);
    std::memcpy(&received_[static_cast<size_t>(t) * bytes], actions, bytes);
  }
  void take(const RolloutView& rollout) {
    for (int64_t env = 0; env < rollout.num_envs; ++env) {
      int64_t ended = 0;
      for (int64_t t = 0; t < rollout.num_steps && played_[env] < share_; ++t) take_step(rollout, env, t, ended);
    }
  }

  Evaluation result;

 private:
  // `ended`: number of this environment's episodes that have already ended in this rollout.
  void take_step(const RolloutView& r, int64_t env, int64_t t, int64_t& ended) {
    PartialEpisode& open = open_[env];
    const int64_t i = t * r.num_envs + env;
    open.reward += r.reward[i];
    open.length += 1;
    if (on_episode_) record(r, i, open.episode);
    if (!r.terminated[i] && !r.truncated[i]) return;
    const float* last = r.last_obs + (ended * r.num_envs + env) * r.obs_dim;
    const bool is_lost = r.terminated[i] == kLost;
    if (is_lost) {
      result.lost += 1;
    } else {
      result.returns.push_back(open.reward);
      result.lengths.push_back(open.length);
    }
    if (on_episode_ && !is_lost) {
      append(open.episode.observations, last, r.obs_dim);
      on_episode_(open.episode);
    }
    open = {};
    ++ended;
    finished_ += ++played_[env] == share_;
  }

  static void append(std::vector<float>& to, const float* from, int64_t n) { to.insert(to.end(), from, from + n); }

  void record(const RolloutView& r, int64_t i, Episode& episode) const {
    append(episode.observations, r.obs + i * r.obs_dim, r.obs_dim);
    append_actions(episode.policy_actions, r.action, i, false);
    append_actions(episode.actions, received_.data(), i, true);
    episode.rewards.push_back(r.reward[i]);
    episode.terminated.push_back(r.terminated[i]);
    episode.truncated.push_back(r.truncated[i]);
  }

  // Appends row i of an array of actions. With `scaled`, these become what the task's step() receives.
  void append_actions(EpisodeActions& to, const std::byte* from, int64_t i, bool scaled) const {
    for (int k = 0; k < space_.numbers(); ++k) {
      const std::byte* number = from + 4 * (i * space_.numbers() + k);
      if (space_.discrete) {
        std::memcpy(&to.discrete.emplace_back(), number, 4);
      } else {
        float& action = to.continuous.emplace_back();
        std::memcpy(&action, number, 4);
        if (scaled) action = space_.received(static_cast<size_t>(k), action);
      }
    }
  }

  struct PartialEpisode {
    double reward = 0;
    int64_t length = 0;
    Episode episode;
  };
  int64_t share_;
  ActionSpace space_;
  const std::function<void(const Episode&)>& on_episode_;
  std::vector<PartialEpisode> open_;  // [num_envs]
  std::vector<int64_t> played_;       // [num_envs], episodes
  std::vector<std::byte> received_;   // [kStepsAtATime, num_envs, numbers] of 4 bytes
  int64_t finished_ = 0;              // environments that have played their share
};

std::vector<double> take_metrics(VecEnv& envs, Queue& queue) {
  const auto columns = static_cast<int64_t>(episode_columns(envs.spec()));
  Array<double> sums(queue, static_cast<size_t>(columns)), scratch(queue, sum_scratch(queue, columns));
  envs.take_episode_sums(queue, sums.data(), scratch.data());
  queue.synchronize();
  EpisodeSums episodes = read_episodes(sums.data(), envs.spec());
  for (double& metric : episodes.metrics) metric /= episodes.count;
  return episodes.metrics;
}

void set_curriculum(VecEnv& envs, std::span<const float> numbers) {
  if (numbers.empty()) return;
  const StateList shared = list_state([&](StateVisitor& visitor) { envs.visit_shared_state(visitor); });
  DRL_CHECK(shared.size() == numbers.size(), "the number of curriculum values does not match the task");
  for (size_t k = 0; k < shared.size(); ++k) shared[k].write(std::as_bytes(numbers.subspan(k, 1)));
}

}  // namespace

template <class T>
Summary summarize(const std::vector<T>& values) {
  if (values.empty()) return {NAN, NAN, NAN, NAN};
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

Evaluation evaluate(const EvaluationPlan& plan, Actor& actor, const std::function<void(const Episode&)>& on_episode) {
  DRL_CHECK(plan.episodes > 0 && plan.num_envs > 0, "an evaluation needs episodes and environments");
  const uint64_t seed = plan.seed | kEvaluationKey;
  const std::unique_ptr<VecEnv> envs = make_env(plan.task,
                                                {.num_envs = plan.num_envs,
                                                 .first_global_index = plan.first_env,
                                                 .seed = seed,
                                                 .setup = plan.setup,
                                                 .threads = plan.threads},
                                                actor.queue());
  Rollout rollout(actor.queue(), envs->spec(), kStepsAtATime, plan.num_envs, true, 0, 0, actor.outputs());
  Collector collector(actor, *envs, rollout, {plan.choice, seed, plan.first_env});
  EpisodeCollector episodes(plan, envs->spec().action, on_episode);
  int64_t steps = 0;
  collector.call_each_step([&] {
    const int64_t t = steps++ % kStepsAtATime;
    if (on_episode) episodes.take_received(envs->received_actions(rollout.row(t)), t);
    if (plan.each_step) plan.each_step();
  });
  set_curriculum(*envs, plan.curriculum);
  envs->reset(actor.queue(), rollout.start_row(), {.group_size = 1});  // sums only the first episodes
  for (int64_t step = 0; !episodes.done(); step += kStepsAtATime) {
    collector.collect(&step);
    episodes.take(rollout.view());
    rollout.roll_over();
  }
  episodes.result.metrics = take_metrics(*envs, actor.queue());
  return episodes.result;
}

// Sorted numbers have the same mean however many ranks there are.
Evaluation evaluate_together(EvaluationPlan plan, Actor& actor, Communicator& comm) {
  const int64_t all = plan.num_envs, share = (all + comm.size() - 1) / comm.size();
  plan.first_env = std::min(all, comm.rank() * share);
  plan.episodes = plan.num_envs = std::min(all - plan.first_env, share);
  Evaluation mine;
  if (plan.num_envs > 0) mine = evaluate(plan, actor);
  const auto gather = [&]<class T>(const std::vector<T>& values) {
    return numbers<T>(comm.gather(std::as_bytes(std::span(values)), 0));
  };
  const std::vector<int64_t> lost = gather(std::vector{mine.lost}),
                             finished = gather(std::vector{std::ssize(mine.returns)});
  const std::vector<double> means = gather(mine.metrics);
  Evaluation result;
  result.returns = gather(mine.returns), result.lengths = gather(mine.lengths);
  if (comm.rank() > 0) return mine;
  std::ranges::sort(result.returns), std::ranges::sort(result.lengths);
  result.lost = std::accumulate(lost.begin(), lost.end(), int64_t{0});
  result.metrics.resize(mine.metrics.size(), result.returns.empty() ? NAN : 0);
  for (size_t k = 0; k < means.size(); ++k) {  // the first ranks have environments, and metrics
    const size_t rank = k / mine.metrics.size(), metric = k % mine.metrics.size();
    const double weight = static_cast<double>(finished[rank]) / static_cast<double>(result.returns.size());
    if (finished[rank] > 0) result.metrics[metric] += weight * means[k];
  }
  return result;
}

Player::Player(const EvaluationPlan& plan, Actor& actor)
    : seed_(plan.seed | kEvaluationKey),
      actor_(actor),
      envs_(make_env(plan.task,
                     {.num_envs = plan.num_envs, .seed = seed_, .setup = plan.setup, .threads = plan.threads},
                     actor.queue())),
      rollout_(actor.queue(), envs_->spec(), 1, plan.num_envs, true, 0, 0, actor.outputs()),
      collector_(actor, *envs_, rollout_, {plan.choice, seed_, 0}) {
  set_curriculum(*envs_, plan.curriculum);
  envs_->reset(actor.queue(), rollout_.start_row(), {});
}

void Player::step() {
  collector_.collect(&moment_.step);
  const RolloutView& row = rollout_.view();
  moment_.step += 1, moment_.age += 1, moment_.reward += static_cast<double>(row.reward[0]);
  if (row.terminated[0] || row.truncated[0])
    moment_ = {.step = moment_.step, .episode = moment_.episode + 1, .age = 0, .reward = 0};
  rollout_.roll_over();
}

void Player::restart() {
  envs_->reset(actor_.queue(), rollout_.start_row(), {.step = {&moment_.step, 0}});
  actor_.restart_episodes();
  moment_ = {.step = moment_.step, .episode = moment_.episode + 1, .age = 0, .reward = 0};
}

void watch(const EvaluationPlan& plan, Actor& actor, const std::function<bool(VecEnv&, const Moment&)>& on_moment) {
  EvaluationPlan of_one = plan;
  of_one.num_envs = of_one.threads = 1;
  Player player(of_one, actor);
  while (on_moment(player.envs(), player.moment())) player.step();
}

}  // namespace drl

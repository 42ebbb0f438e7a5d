#include "learn/ppo.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "learn/gae.hpp"
#include "learn/iteration_sums.hpp"

namespace drl {
namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

void write_episodes(const EpisodeSums& sums, double* out) {
  const double head[] = {sums.count, sums.reward, sums.reward_squared, sums.length};
  std::copy(std::begin(head), std::end(head), out);
  std::copy(sums.terms.begin(), sums.terms.end(), out + 4);
}

struct Moments {
  double sum = 0, squares = 0;
};

Moments moments(const Array<float>& values) {
  Moments m;
  for (float v : values) m.sum += v, m.squares += static_cast<double>(v) * v;
  return m;
}

}  // namespace

void BatchPlan::check() const {
  if (shards % world_size != 0)
    throw UsageError("--shards " + std::to_string(shards) + " does not divide over " + std::to_string(world_size) +
                     " ranks (each rank owns whole shards): use a multiple of " + std::to_string(world_size));
  const int64_t unit =
      local_shards() * (num_mini_batches / std::gcd(static_cast<int64_t>(num_mini_batches), num_steps));
  if (num_envs % unit != 0) {
    const int64_t below = num_envs / unit * unit, above = below + unit;
    const std::string nearest =
        below > 0 ? std::to_string(below) + " or " + std::to_string(above) : std::to_string(above);
    throw UsageError("--num_envs " + std::to_string(num_envs) + " with --num_steps_per_env " +
                     std::to_string(num_steps) + " does not divide into " + std::to_string(num_mini_batches) +
                     " equal mini-batches" +
                     (local_shards() > 1 ? " in each of " + std::to_string(local_shards()) + " shards" : "") +
                     " (ppo.num_mini_batches): use --num_envs " + nearest);
  }
  if (num_envs * num_steps > std::numeric_limits<int32_t>::max())
    throw UsageError(
        "--num_envs x --num_steps_per_env makes 2^31 samples a rank or more: use fewer environments or more ranks");
}

void mini_batch_rows(const BatchPlan& plan, uint64_t seed, int64_t iteration, int epoch, int m,
                     std::vector<int32_t>& rows) {
  const int64_t per_shard = plan.rows_per_shard(), envs = plan.envs_per_shard();
  rows.resize(static_cast<size_t>(per_shard * plan.local_shards()));
  size_t next = 0;
  for (int local = 0; local < plan.local_shards(); ++local) {
    const uint64_t shard = static_cast<uint64_t>(plan.rank) * plan.local_shards() + local;
    const Permutation permutation(seed, iteration, epoch, shard, static_cast<uint32_t>(plan.samples_per_shard()));
    for (int64_t i = m * per_shard; i < (m + 1) * per_shard; ++i)
      rows[next++] =
          rollout_row(permutation, static_cast<uint32_t>(i), static_cast<uint32_t>(envs), plan.num_envs, local * envs);
  }
}

void check_ppo(const PolicyOptions& policy, const BatchPlan& plan) {
  plan.check();
  if (policy.std_min > policy.std_max)
    throw UsageError("policy.std_min is above policy.std_max (no standard deviation is left): exchange them");
}

LossSettings loss_settings(const PpoOptions& options) {
  LossSettings loss;
  loss.clip_param = static_cast<float>(options.clip_param);
  loss.value_clip =
      options.use_clipped_value_loss ? static_cast<float>(options.value_clip) : std::numeric_limits<float>::infinity();
  loss.value_loss_coef = static_cast<float>(options.value_loss_coef);
  loss.entropy_coef = static_cast<float>(options.entropy_coef);
  return loss;
}

double scheduled_learning_rate(const PpoOptions& options, int64_t iteration) {
  if (options.schedule == "fixed") return options.learning_rate;
  const double done = static_cast<double>(iteration) / options.schedule_iterations;
  return options.learning_rate * std::max(0.0, 1 - done);
}

StdBounds std_bounds(const PolicyOptions& policy) {
  const bool log_std = policy.std_type == "log";
  const auto bound = [&](double std) { return static_cast<float>(log_std ? std::log(std) : std); };
  return {bound(policy.std_min), bound(policy.std_max)};
}

Ppo::Ppo(const PpoOptions& options, const PolicyOptions& policy, const BatchPlan& plan, uint64_t seed, VecEnv& envs,
         Engine& engine)
    : options_(options),
      policy_(policy),
      plan_(plan),
      seed_(seed),
      envs_(envs),
      engine_(engine),
      rollout_(envs.spec(), plan.num_steps, plan.num_envs),
      params_(parameter_count(engine.layout())),
      gradient_(params_.size() + kTailSize),
      adam_(static_cast<int64_t>(params_.size()), options.adam_eps),
      obs_normalizer_(options.obs_normalization ? envs.spec().obs_dim : 0),
      critic_normalizer_(options.obs_normalization ? envs.spec().critic_obs_dim : 0),
      std_offset_(std_offset(engine.layout())),
      first_critic_(first_critic_parameter(engine.layout())),
      learning_rate_(options.learning_rate) {
  check_ppo(policy, plan);
  rollout_.first_env = plan.rank * plan.num_envs;
  initialize_parameters(network_spec(envs.spec(), policy), policy, seed, params_);
  loss_ = loss_settings(options);
  envs_.reset(rollout_.start_row());
}

void Ppo::iterate(int64_t iteration, Communicator& comm, std::span<double> riders) {
  const Clock::time_point start = Clock::now();
  collect();
  const Clock::time_point collected = Clock::now();
  compute_advantages();
  reduce_iteration(comm, riders);
  update(iteration, comm);
  rollout_.roll_over();
  stats_.collection_time = seconds(start, collected);
  stats_.learning_time = seconds(collected, Clock::now());
}

void Ppo::collect() {
  engine_.collect(params_.data(), normalizers(), envs_, seed_, lifetime_step_, ActionChoice::sample, rollout_);
  lifetime_step_ += plan_.num_steps;
}

// reward += gamma * V(last observation) where the step limit cut an episode: what would have come.
void Ppo::bootstrap_truncated() {
  const int64_t dim = rollout_.critic_input_dim();
  truncated_rows_.clear();
  for (int64_t i = 0; i < rollout_.samples(); ++i)
    if (rollout_.truncated[i] && !rollout_.terminated[i]) truncated_rows_.push_back(static_cast<int32_t>(i));
  final_obs_.resize(truncated_rows_.size() * static_cast<size_t>(dim));
  final_values_.resize(truncated_rows_.size());
  gather_normalized({}, rollout_.final_critic_input(), truncated_rows_, dim, final_obs_.data());
  engine_.values(params_.data(), normalizers(), final_obs_.data(), static_cast<int64_t>(truncated_rows_.size()),
                 final_values_.data());
  const float gamma = static_cast<float>(options_.gamma);
  for (size_t k = 0; k < truncated_rows_.size(); ++k) rollout_.reward[truncated_rows_[k]] += gamma * final_values_[k];
}

void Ppo::compute_advantages() {
  engine_.values(params_.data(), normalizers(), rollout_.critic_input(), rollout_.samples() + rollout_.num_envs,
                 rollout_.value.data());
  if (options_.reward_scale != 1)
    for (float& reward : rollout_.reward) reward *= static_cast<float>(options_.reward_scale);
  bootstrap_truncated();
  generalized_advantages(rollout_, static_cast<float>(options_.gamma), static_cast<float>(options_.lam));
}

// The iteration's one float64 all-reduce.
void Ppo::reduce_iteration(Communicator& comm, std::span<double> riders) {
  const size_t terms = envs_.spec().reward_terms.size();
  const ReduceLayout at(riders.size(), terms, obs_normalizer_.moments_size(), critic_normalizer_.moments_size(),
                        comm.size());
  reduced_.assign(at.size, 0.0);
  const std::span<double> all(reduced_);
  std::copy(riders.begin(), riders.end(), all.begin());
  const Moments advantages = moments(rollout_.advantage), returns = moments(rollout_.return_target);
  const double n = static_cast<double>(rollout_.samples());
  const double moments5[] = {n, advantages.sum, advantages.squares, returns.sum, returns.squares};
  std::copy(std::begin(moments5), std::end(moments5), all.begin() + at.advantage);
  write_episodes(envs_.take_episode_sums(), &all[at.episodes]);
  obs_normalizer_.moments(rollout_.obs.data(), rollout_.samples(), all.subspan(at.obs, obs_normalizer_.moments_size()));
  critic_normalizer_.moments(rollout_.critic_obs.data(), rollout_.samples(),
                             all.subspan(at.critic_obs, critic_normalizer_.moments_size()));
  // Not finite anywhere on this rank: said in its slot, and kept out of the sums.
  const bool finite = std::all_of(all.begin() + riders.size(), all.end(), [](double x) { return std::isfinite(x); });
  if (!finite) std::fill(all.begin() + riders.size(), all.end(), 0.0);
  all[at.bad_numbers + comm.rank()] = finite ? 0 : 1;

  comm.all_reduce_sum(all);

  require_finite(all, at, comm.size());
  std::copy_n(all.begin(), riders.size(), riders.begin());
  normalize_advantages(&all[at.advantage], loss_);
  stats_.explained_variance = explained_variance(&all[at.advantage]);
  stats_.episodes = read_episodes(&all[at.episodes], terms);
  moments_at_ = {at.obs, at.critic_obs};
}

void Ppo::update(int64_t iteration, Communicator& comm) {
  if (options_.schedule != "adaptive") learning_rate_ = scheduled_learning_rate(options_, iteration);
  update_sums_ = {};
  gradient_norm_sum_ = 0;
  for (int epoch = 0; epoch < options_.num_learning_epochs; ++epoch)
    for (int m = 0; m < plan_.num_mini_batches; ++m) step_mini_batch(iteration, epoch, m, comm);
  // Only now: the normaliser is frozen from the first step of collect to the last mini-batch.
  obs_normalizer_.merge(std::span(reduced_).subspan(moments_at_[0], obs_normalizer_.moments_size()));
  critic_normalizer_.merge(std::span(reduced_).subspan(moments_at_[1], critic_normalizer_.moments_size()));

  const double n = update_sums_.n;
  stats_.kl = update_sums_.kl / n;
  stats_.surrogate_loss = update_sums_.surrogate / n;
  stats_.value_loss = update_sums_.value / n;
  stats_.entropy = update_sums_.entropy / n;
  stats_.clip_fraction = update_sums_.clipped / n;
  stats_.gradient_norm = gradient_norm_sum_ / (options_.num_learning_epochs * plan_.num_mini_batches);
  stats_.learning_rate = learning_rate_;
  stats_.action_std = rollout_.discrete
                          ? std::numeric_limits<double>::quiet_NaN()
                          : std::accumulate(rollout_.std.begin(), rollout_.std.end(), 0.0) / rollout_.action_size;
}

// Gradient sums of all ranks in one all-reduce, with n, KL and losses in its tail.
void Ppo::step_mini_batch(int64_t iteration, int epoch, int m, Communicator& comm) {
  mini_batch_rows(plan_, seed_, iteration, epoch, m, rows_);
  engine_.gradient(params_.data(), normalizers(), rollout_, {rows_, loss_}, gradient_.data());
  comm.all_reduce_sum(std::span<float>(gradient_));
  apply_gradient(read_tail(gradient_.data() + params_.size()), epoch == 0 && m == 0);
}

void Ppo::apply_gradient(const LossSums& sums, bool first) {
  const std::span<float> gradient(gradient_.data(), params_.size());
  const float per_sample = static_cast<float>(1 / sums.n);
  for (float& g : gradient) g *= per_sample;
  // On the first mini-batch the policy is still the old one: its KL is rounding noise.
  if (options_.schedule == "adaptive" && !first)
    learning_rate_ = adapted_learning_rate(learning_rate_, sums.kl / sums.n, options_.desired_kl);
  const double actor_norm = clip_gradient(gradient.first(first_critic_), options_.max_grad_norm);
  const double critic_norm = clip_gradient(gradient.subspan(first_critic_), options_.max_grad_norm);
  if (!std::isfinite(actor_norm) || !std::isfinite(critic_norm)) gradient_is_not_finite();
  adam_.step(params_, gradient, learning_rate_);
  project_std();
  gradient_norm_sum_ += std::hypot(actor_norm, critic_norm);
  update_sums_.n += sums.n, update_sums_.kl += sums.kl, update_sums_.surrogate += sums.surrogate;
  update_sums_.value += sums.value, update_sums_.entropy += sums.entropy, update_sums_.clipped += sums.clipped;
}

void Ppo::project_std() {
  if (std_offset_ < 0) return;
  const StdBounds bounds = std_bounds(policy_);
  for (int64_t k = 0; k < rollout_.action_size; ++k) {
    float& param = params_[std_offset_ + k];
    param = std::clamp(param, bounds.low, bounds.high);
  }
}

void Ppo::visit_state(StateVisitor& visitor) {
  for (const ParamSlice& slice : engine_.layout())
    visitor.array(slice.name, params_.data() + slice.offset, slice.shape);
  adam_.visit_state(visitor);
  visitor.scalar("optimizer/learning_rate", learning_rate_);
  obs_normalizer_.visit_state(visitor, "normalizer/obs");
  critic_normalizer_.visit_state(visitor, "normalizer/critic_obs");
  visitor.scalar("rollout/lifetime_step", lifetime_step_);
  visitor.array("rollout/obs", rollout_.obs.data(), {rollout_.num_envs, rollout_.obs_dim}, Sharding::per_env);
  if (rollout_.critic_obs_dim > 0)
    visitor.array("rollout/critic_obs", rollout_.critic_obs.data(), {rollout_.num_envs, rollout_.critic_obs_dim},
                  Sharding::per_env);
  envs_.visit_state(visitor);
}

void Ppo::state_changed() {
  obs_normalizer_.refresh();
  critic_normalizer_.refresh();
}

}  // namespace drl

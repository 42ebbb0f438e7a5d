// Compiled by nvcc, and for tests by the host's compiler.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "gpu/for_each.hpp"
#include "gpu/reduce.hpp"
#include "learn/gae.hpp"
#include "learn/gpu_loss.hpp"
#include "learn/gpu_ppo.hpp"
#include "learn/sampling.hpp"

namespace drl {

struct GpuPpo::Rollout {
  Rollout(const TaskSpec& task, int64_t steps, int64_t envs, int64_t first_env, const gpu::Stream& stream)
      : obs((steps + 1) * envs * task.obs_dim, stream),
        critic_obs((steps + 1) * envs * task.critic_obs_dim, stream),
        policy_out(steps * envs * task.action.size, stream),
        std(task.action.discrete ? 0 : task.action.size, stream),
        action(task.action.discrete ? 0 : steps * envs * task.action.size, stream),
        env_action(task.action.discrete ? 0 : envs * task.action.size, stream),
        log_prob(steps * envs, stream),
        reward(steps * envs, stream),
        final_obs(steps * envs * task.obs_dim, stream),
        final_critic_obs(steps * envs * task.critic_obs_dim, stream),
        value((steps + 1) * envs, stream),
        advantage(steps * envs, stream),
        return_target(steps * envs, stream),
        choice(task.action.discrete ? steps * envs : 0, stream),
        terminated(steps * envs, stream),
        truncated(steps * envs, stream) {
    view = view_of(*this, steps, envs, task.obs_dim, task.critic_obs_dim, task.action.size, task.action.discrete,
                   first_env);
  }

  gpu::Array<float> obs, critic_obs, policy_out, std, action, env_action, log_prob, reward, final_obs, final_critic_obs,
      value, advantage, return_target;
  gpu::Array<int32_t> choice;
  gpu::Array<uint8_t> terminated, truncated;
  RolloutView view;
};

namespace {

// --- Collection ---

struct StandardDeviations {
  const float* params;
  bool log_std;
  float* std;
  DRL_HD void operator()(int64_t k) const { std[k] = log_std ? math::exp(params[k]) : params[k]; }
};

struct SampleActions {
  ActionRow row;
  uint64_t seed;
  const int64_t* first_step;
  int64_t offset;
  DRL_HD void operator()(int64_t i) const {
    const uint64_t step = static_cast<uint64_t>(*first_step + offset);
    if (row.choice) return sample_categorical(row, i, seed, step);
    for (int k = 0; k < row.size; ++k) sample_gaussian(row, gaussian_dimension(row, k), i, seed, step);
  }
};

struct Advance {
  int64_t* number;
  int64_t by;
  DRL_HD void operator()(int64_t) const { *number += by; }
};

// --- Advantages ---

// The last observations of environment i's truncated episodes, one after the other.
struct GatherTruncated {
  RolloutView r;
  int64_t capacity;  // an environment cannot be truncated more often in a rollout
  int32_t* count;    // [N]
  float* obs;        // [capacity, N, critic input]
  DRL_HD void operator()(int64_t i) const {
    const int64_t dim = r.critic_input_dim();
    const float* final_obs = r.final_critic_input();
    int32_t found = 0;
    for (int64_t t = 0; t < r.num_steps && found < capacity; ++t) {
      const int64_t row = t * r.num_envs + i;
      if (!r.truncated[row] || r.terminated[row]) continue;
      for (int64_t k = 0; k < dim; ++k) obs[(found * r.num_envs + i) * dim + k] = final_obs[row * dim + k];
      ++found;
    }
    count[i] = found;
  }
};

// Scales rewards, adds gamma * V(last observation) where the step limit cut an episode, and walks back in time.
struct Advantages {
  RolloutView r;
  float gamma, lam, reward_scale;
  const int32_t* truncations;     // [N]
  const float* truncated_values;  // [capacity, N]
  DRL_HD void operator()(int64_t i) const {
    int32_t left = truncations[i];
    float next = 0;
    for (int64_t t = r.num_steps - 1; t >= 0; --t) {
      const int64_t row = t * r.num_envs + i;
      float reward = r.reward[row] * reward_scale;
      if (r.truncated[row] && !r.terminated[row]) reward += gamma * truncated_values[--left * r.num_envs + i];
      r.reward[row] = reward;
      next = advantage_of(reward, r.value[row], r.value[row + r.num_envs], r.terminated[row] | r.truncated[row], next,
                          gamma, lam);
      r.advantage[row] = next;
      r.return_target[row] = next + r.value[row];
    }
  }
};

struct LoadAdvantageMoments {
  const float *advantage, *return_target;
  DRL_HD double operator()(int64_t row, int column) const {
    const double x = static_cast<double>(column < 2 ? advantage[row] : return_target[row]);
    return column % 2 == 0 ? x : x * x;
  }
};

// Sums about `shift`, then sums of squares: as Normalizer::moments.
struct LoadObservationMoments {
  const float* obs;
  const double* shift;
  int dim;
  DRL_HD double operator()(int64_t row, int column) const {
    const int k = column % dim;
    const double d = static_cast<double>(obs[row * dim + k]) - shift[k];
    return column < dim ? d : d * d;
  }
};

struct SetNumber {
  double* at;
  double value;
  DRL_HD void operator()(int64_t) const { *at = value; }
};

// Numbers that are not finite are said in this rank's slot, and kept out of the sums.
struct CheckFinite {
  double *first, *last;  // of what this rank brings
  double* slot;
  DRL_HD void operator()(int64_t) const {
    bool finite = true;
    for (const double* x = first; x != last; ++x) finite = finite && *x - *x == 0;
    if (finite) return;
    for (double* x = first; x != last; ++x) *x = 0;
    *slot = 1;
  }
};

// --- Update ---

struct BeginUpdate {
  GpuPpoNumbers* numbers;
  const double* advantage_sums;  // n, sum, squares, ...
  const GpuPpoInputs* inputs;
  DRL_HD void operator()(int64_t) const {
    normalize_advantages(advantage_sums, numbers->loss);
    if (inputs->learning_rate == inputs->learning_rate) numbers->learning_rate = inputs->learning_rate;
    numbers->iteration = inputs->iteration;
    numbers->sums = LossSums{};
    numbers->gradient_norm = 0;
    numbers->bad_gradient = 0;
  }
};

// As mini_batch_rows.
struct MiniBatchRows {
  BatchPlan plan;
  uint64_t seed;
  const GpuPpoNumbers* numbers;
  uint32_t epoch;
  int64_t m;
  int32_t* rows;
  DRL_HD void operator()(int64_t i) const {
    const int64_t per_shard = plan.rows_per_shard(), envs = plan.envs_per_shard(), local = i / per_shard;
    const uint64_t shard = static_cast<uint64_t>(plan.rank * static_cast<int64_t>(plan.local_shards()) + local);
    const Permutation permutation(seed, static_cast<uint64_t>(numbers->iteration), epoch, shard,
                                  static_cast<uint32_t>(plan.samples_per_shard()));
    rows[i] = rollout_row(permutation, static_cast<uint32_t>(m * per_shard + i % per_shard),
                          static_cast<uint32_t>(envs), plan.num_envs, local * envs);
  }
};

// The gradient's sum over samples as a mean; its squares, the actor's and the critic's apart.
DRL_HD float mean_gradient(const float* gradient, const float* tail, int64_t i) {
  return gradient[i] * static_cast<float>(1 / static_cast<double>(tail[0]));
}

struct LoadSquares {
  const float *gradient, *tail;
  int64_t first_critic;
  DRL_HD double operator()(int64_t i, int column) const {
    if ((i >= first_critic) != (column == 1)) return 0;
    const double g = static_cast<double>(mean_gradient(gradient, tail, i));
    return g * g;
  }
};

DRL_HD double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

// What an Adam step needs beside the gradient: learning rate, clipping, corrections.
struct SettleStep {
  GpuPpoNumbers* numbers;
  const float* tail;
  bool adapt;  // the learning rate to the KL
  double desired_kl, max_grad_norm, adam_eps;
  DRL_HD void operator()(int64_t) const {
    GpuPpoNumbers& x = *numbers;
    const double n = static_cast<double>(tail[0]), kl = static_cast<double>(tail[1]);
    if (adapt) x.learning_rate = adapted_learning_rate(x.learning_rate, kl / n, desired_kl);
    const double both = x.squared_norms[0] + x.squared_norms[1];
    if (!(both - both == 0)) x.bad_gradient = 1;  // NaN or infinite
    for (int part = 0; part < 2; ++part) {
      const double norm = math::sqrt_double(x.squared_norms[part]);
      x.clip[part] = math::min(1.0f, static_cast<float>(max_grad_norm / (norm + 1e-6)));
    }
    x.adam_steps += 1;
    x.adam.step_size = static_cast<float>(x.learning_rate / (1 - power(kAdamBeta1, x.adam_steps)));
    x.adam.inv_sqrt_correction2 = static_cast<float>(1 / math::sqrt_double(1 - power(kAdamBeta2, x.adam_steps)));
    x.adam.epsilon = static_cast<float>(adam_eps);
    x.gradient_norm += math::sqrt_double(both);
    x.sums.n += n;
    x.sums.kl += kl;
    x.sums.surrogate += static_cast<double>(tail[2]);
    x.sums.value += static_cast<double>(tail[3]);
    x.sums.entropy += static_cast<double>(tail[4]);
    x.sums.clipped += static_cast<double>(tail[5]);
  }
};

struct AdamStep {
  const GpuPpoNumbers* numbers;
  const float *gradient, *tail;
  float *params, *m, *v;
  int64_t first_critic, std_begin, std_end;  // standard deviations' parameters, kept within bounds
  float std_low, std_high;
  DRL_HD void operator()(int64_t i) const {
    if (numbers->bad_gradient) return;
    const float clip = numbers->clip[i >= first_critic ? 1 : 0];
    float g = mean_gradient(gradient, tail, i);
    if (clip < 1) g *= clip;
    adam_update(params[i], g, m[i], v[i], numbers->adam);
    if (i >= std_begin && i < std_end) params[i] = math::clamp(params[i], std_low, std_high);
  }
};

}  // namespace

void GpuPpo::DeviceNormalizer::push(const Normalizer& normalizer, const gpu::Stream& stream) {
  const size_t dim = normalizer.mean().size();
  if (dim == 0) return;
  if (mean.empty()) {
    mean = gpu::Array<float>(dim, stream), inv_std = gpu::Array<float>(dim, stream);
    shift = gpu::Array<double>(dim, stream);
    host_mean = gpu::PinnedArray<float>(dim), host_inv_std = gpu::PinnedArray<float>(dim);
    host_shift = gpu::PinnedArray<double>(dim);
  }
  std::copy_n(normalizer.view().mean, dim, host_mean.data());
  std::copy_n(normalizer.view().inv_std, dim, host_inv_std.data());
  std::copy_n(normalizer.mean().data(), dim, host_shift.data());
  gpu::copy_to_device(stream, mean.data(), host_mean.data(), dim);
  gpu::copy_to_device(stream, inv_std.data(), host_inv_std.data(), dim);
  gpu::copy_to_device(stream, shift.data(), host_shift.data(), dim);
}

GpuPpo::GpuPpo(const PpoOptions& options, const PolicyOptions& policy, const BatchPlan& plan, uint64_t seed,
               bool graphs, GpuVecEnv& envs, GpuEngine& engine, gpu::Stream& stream)
    : options_(options),
      policy_(policy),
      plan_(plan),
      seed_(seed),
      graphs_(graphs),
      envs_(envs),
      engine_(engine),
      stream_(stream),
      parameters_(static_cast<size_t>(parameter_count(engine.layout()))),
      std_offset_(std_offset(engine.layout())),
      first_critic_(first_critic_parameter(engine.layout())),
      obs_normalizer_(options.obs_normalization ? envs.spec().obs_dim : 0),
      critic_normalizer_(options.obs_normalization ? envs.spec().critic_obs_dim : 0),
      host_inputs_(1) {
  check_ppo(policy, plan);
  const TaskSpec& task = envs.spec();
  const int64_t n = plan.num_envs;
  rollout_ = std::make_shared<Rollout>(task, plan.num_steps, n, plan.rank * n, stream);
  const RolloutView& rollout = rollout_->view;
  state_ = gpu::Array<float>(3 * parameters_, stream);
  gradient_ = gpu::Array<float>(parameters_ + kTailSize, stream);
  numbers_ = gpu::Array<GpuPpoNumbers>(1, stream);
  inputs_ = gpu::Array<GpuPpoInputs>(1, stream);
  low_ = gpu::Array<float>(task.action.low.size(), stream);
  high_ = gpu::Array<float>(task.action.high.size(), stream);
  if (!task.action.discrete) {
    gpu::copy_to_device(stream, low_.data(), task.action.low.data(), low_.size());
    gpu::copy_to_device(stream, high_.data(), task.action.high.data(), high_.size());
  }
  rows_ = gpu::Array<int32_t>(static_cast<size_t>(plan.rows_per_shard() * plan.local_shards()), stream);
  // After an episode was cut by the step limit, the next one lasts that long before it can be.
  truncations_per_env_ = std::min<int64_t>(plan.num_steps, plan.num_steps / task.step_limit + 1);
  truncations_ = gpu::Array<int32_t>(static_cast<size_t>(n), stream);
  truncated_obs_ =
      gpu::Array<float>(static_cast<size_t>(truncations_per_env_ * n * rollout.critic_input_dim()), stream);
  truncated_values_ = gpu::Array<float>(static_cast<size_t>(truncations_per_env_ * n), stream);
  engine.reserve(rollout.samples() + n, stream);
  envs.reset(rollout.start_row(), stream);

  float* host = mirror_.add(state_.data(), state_.size());
  initialize_parameters(network_spec(task, policy), policy, seed, {host, parameters_});
  host_params_ = host;
  host_numbers_ = mirror_.add(numbers_.data(), 1);
  *host_numbers_ = {};
  host_numbers_->learning_rate = options.learning_rate;
  host_numbers_->loss = loss_settings(options);
  host_obs_ = mirror_.add(rollout_->obs.data(), static_cast<size_t>(n * task.obs_dim), Sharding::per_env);
  if (task.critic_obs_dim > 0)
    host_critic_obs_ =
        mirror_.add(rollout_->critic_obs.data(), static_cast<size_t>(n * task.critic_obs_dim), Sharding::per_env);
  envs.mirror_state(mirror_);
  state_needed();
  push_state();
}

void GpuPpo::iterate(int64_t iteration, Communicator& comm, std::span<double> riders) {
  if (!at_) prepare(riders.size(), comm);
  enqueue_inputs(iteration, riders);
  began_.record(stream_);
  {
    const gpu::Range range("collect");
    run(collection_, collection_comm_, comm, [&] { enqueue_collection(); });
  }
  collected_.record(stream_);
  {
    const gpu::Range range("update");
    run(update_, update_comm_, comm, [&] { enqueue_update(comm); });
  }
  enqueue_outputs();
  ended_.record(stream_);
  comm.wait([&] { return gpu::has_ended(gpuEventQuery(ended_.get()), "an iteration's kernels"); });
  warm_ = true;
  read_outputs(comm, riders);
  stats_.collection_time = collected_.seconds_since(began_);
  stats_.learning_time = ended_.seconds_since(collected_);
}

void GpuPpo::prepare(size_t riders, Communicator& comm) {
  const TaskSpec& task = envs_.spec();
  at_ = std::make_unique<ReduceLayout>(riders, task.reward_terms.size(), obs_normalizer_.moments_size(),
                                       critic_normalizer_.moments_size(), comm.size());
  reduced_ = gpu::Array<double>(at_->size, stream_);
  host_reduced_ = gpu::PinnedArray<double>(at_->size);
  host_std_ = gpu::PinnedArray<float>(rollout_->std.size());
  const int64_t columns = std::max<int64_t>({4, envs_.episode_columns(), 2 * task.obs_dim, 2 * task.critic_obs_dim});
  scratch_ = gpu::Array<double>(gpu::reduction_size(columns), stream_);
}

// What changes from one iteration to the next reaches the graphs through device memory.
void GpuPpo::enqueue_inputs(int64_t iteration, std::span<const double> riders) {
  host_inputs_[0] = {iteration, options_.schedule == "adaptive" ? std::numeric_limits<double>::quiet_NaN()
                                                                : scheduled_learning_rate(options_, iteration)};
  gpu::copy_to_device(stream_, inputs_.data(), host_inputs_.data(), 1);
  std::copy(riders.begin(), riders.end(), host_reduced_.data());
  std::fill(host_reduced_.data() + riders.size(), host_reduced_.data() + host_reduced_.size(), 0.0);
  gpu::copy_to_device(stream_, reduced_.data(), host_reduced_.data(), host_reduced_.size());
}

void GpuPpo::enqueue_collection() {
  const RolloutView& r = rollout_->view;
  const float* params = state_.data();
  const int64_t n = r.num_envs, *first_step = &numbers_.data()->lifetime_step;
  if (!r.discrete)
    gpu::for_each(stream_, r.action_size, StandardDeviations{params + std_offset_, policy_.std_type == "log", r.std});
  for (int64_t t = 0; t < r.num_steps; ++t) {
    const int64_t first = t * n;
    float* policy_out = r.policy_out + first * r.action_size;
    engine_.policy(params, device_normalizers(), r.obs + first * r.obs_dim, n, policy_out, stream_);
    const ActionRow row{n,
                        r.first_env,
                        static_cast<int>(r.action_size),
                        policy_out,
                        r.std,
                        low_.data(),
                        high_.data(),
                        r.discrete ? nullptr : r.action + first * r.action_size,
                        r.env_action,
                        r.log_prob + first,
                        r.discrete ? r.choice + first : nullptr};
    gpu::for_each(stream_, n, SampleActions{row, seed_, first_step, t});
    envs_.step(first_step, t, r.row(t), stream_);
  }
  gpu::for_each(stream_, 1, Advance{&numbers_.data()->lifetime_step, r.num_steps});
}

void GpuPpo::enqueue_update(Communicator& comm) {
  enqueue_advantages();
  enqueue_reduction(comm);
  gpu::for_each(stream_, 1, BeginUpdate{numbers_.data(), reduced_.data() + at_->advantage, inputs_.data()});
  for (int epoch = 0; epoch < options_.num_learning_epochs; ++epoch)
    for (int m = 0; m < plan_.num_mini_batches; ++m) enqueue_mini_batch(epoch, m, comm);
  // Row T becomes row 0.
  const RolloutView& r = rollout_->view;
  gpu::copy_on_device(stream_, r.obs, r.obs + r.samples() * r.obs_dim, static_cast<size_t>(r.num_envs * r.obs_dim));
  if (r.critic_obs_dim > 0)
    gpu::copy_on_device(stream_, r.critic_obs, r.critic_obs + r.samples() * r.critic_obs_dim,
                        static_cast<size_t>(r.num_envs * r.critic_obs_dim));
}

void GpuPpo::enqueue_advantages() {
  const RolloutView& r = rollout_->view;
  const float* params = state_.data();
  engine_.values(params, device_normalizers(), r.critic_input(), r.samples() + r.num_envs, r.value, stream_);
  gpu::for_each(stream_, r.num_envs,
                GatherTruncated{r, truncations_per_env_, truncations_.data(), truncated_obs_.data()});
  engine_.values(params, device_normalizers(), truncated_obs_.data(), truncations_per_env_ * r.num_envs,
                 truncated_values_.data(), stream_);
  gpu::for_each(stream_, r.num_envs,
                Advantages{r, static_cast<float>(options_.gamma), static_cast<float>(options_.lam),
                           static_cast<float>(options_.reward_scale), truncations_.data(), truncated_values_.data()});
}

// The iteration's one float64 all-reduce.
void GpuPpo::enqueue_reduction(Communicator& comm) {
  const RolloutView& r = rollout_->view;
  const ReduceLayout& at = *at_;
  double* all = reduced_.data();
  const double samples = static_cast<double>(r.samples());
  gpu::for_each(stream_, 1, SetNumber{all + at.advantage, samples});
  gpu::sum_columns(stream_, r.samples(), 4, scratch_.data(), LoadAdvantageMoments{r.advantage, r.return_target},
                   gpu::StoreTo<double>{all + at.advantage + 1});
  envs_.take_episode_sums(all + at.episodes, scratch_.data(), stream_);
  const auto observations = [&](const float* obs, int64_t dim, const DeviceNormalizer& normalizer, double* out) {
    gpu::for_each(stream_, 1, SetNumber{out, samples});
    gpu::sum_columns(stream_, r.samples(), static_cast<int>(2 * dim), scratch_.data(),
                     LoadObservationMoments{obs, normalizer.shift.data(), static_cast<int>(dim)},
                     gpu::StoreTo<double>{out + 1});
  };
  if (obs_normalizer_.moments_size()) observations(r.obs, r.obs_dim, device_obs_normalizer_, all + at.obs);
  if (critic_normalizer_.moments_size())
    observations(r.critic_obs, r.critic_obs_dim, device_critic_normalizer_, all + at.critic_obs);
  gpu::for_each(stream_, 1, CheckFinite{all + at.advantage, all + at.bad_numbers, all + at.bad_numbers + comm.rank()});
  comm.all_reduce_sum(std::span<double>(all, at.size), {stream_.get()});
}

// Gradient sums of all ranks in one all-reduce, with n, KL and losses in its tail.
void GpuPpo::enqueue_mini_batch(int epoch, int m, Communicator& comm) {
  GpuPpoNumbers* numbers = numbers_.data();
  float *params = state_.data(), *gradient = gradient_.data(), *tail = gradient + parameters_;
  const auto rows = static_cast<int64_t>(rows_.size()), count = static_cast<int64_t>(parameters_);
  gpu::for_each(stream_, rows, MiniBatchRows{plan_, seed_, numbers, static_cast<uint32_t>(epoch), m, rows_.data()});
  engine_.gradient(params, device_normalizers(), rollout_->view, rows_.data(), rows, &numbers->loss, gradient, stream_);
  {
    const gpu::Range range("all-reduce");
    comm.all_reduce_sum(std::span<float>(gradient, gradient_.size()), {stream_.get()});
  }
  gpu::sum_columns(stream_, count, 2, scratch_.data(), LoadSquares{gradient, tail, first_critic_},
                   gpu::StoreTo<double>{&numbers->squared_norms[0]});
  // On the first mini-batch the policy is still the old one: its KL is rounding noise.
  const bool adapt = options_.schedule == "adaptive" && (epoch > 0 || m > 0);
  gpu::for_each(stream_, 1,
                SettleStep{numbers, tail, adapt, options_.desired_kl, options_.max_grad_norm, options_.adam_eps});
  const StdBounds bounds = std_bounds(policy_);
  const int64_t std_begin = std::max<int64_t>(std_offset_, 0),
                std_end = std_offset_ < 0 ? 0 : std_offset_ + rollout_->view.action_size;
  gpu::for_each(stream_, count,
                AdamStep{numbers, gradient, tail, params, params + count, params + 2 * count, first_critic_, std_begin,
                         std_end, bounds.low, bounds.high});
}

// The copy of metrics at the iteration's end, with what the replicas' fingerprint and checkpoints need.
void GpuPpo::enqueue_outputs() {
  mirror_.fetch(stream_, Sharding::replicated);
  gpu::copy_to_host(stream_, host_reduced_.data(), reduced_.data(), host_reduced_.size());
  gpu::copy_to_host(stream_, host_std_.data(), rollout_->std.data(), host_std_.size());
}

// Enqueues the work, from the second iteration on as a graph.
template <class Enqueue>
void GpuPpo::run(gpu::Graph& graph, CommStats& in_graph, Communicator& comm, Enqueue&& enqueue) {
  if (!graphs_ || !warm_) return enqueue();
  if (!graph.captured()) in_graph = comm.capture([&] { graph.capture(stream_, enqueue); });
  graph.launch(stream_);
  comm.count_replayed(in_graph, {stream_.get()});
}

void GpuPpo::read_outputs(Communicator& comm, std::span<double> riders) {
  const ReduceLayout& at = *at_;
  const std::span<const double> all(host_reduced_.data(), host_reduced_.size());
  const GpuPpoNumbers& x = *host_numbers_;
  require_finite(all, at, comm.size());
  if (x.bad_gradient) gradient_is_not_finite();
  std::copy_n(all.begin(), riders.size(), riders.begin());
  // Only now: the normaliser is frozen from the first step of collect to the last mini-batch.
  obs_normalizer_.merge(all.subspan(at.obs, obs_normalizer_.moments_size()));
  critic_normalizer_.merge(all.subspan(at.critic_obs, critic_normalizer_.moments_size()));
  device_obs_normalizer_.push(obs_normalizer_, stream_);
  device_critic_normalizer_.push(critic_normalizer_, stream_);

  stats_.episodes = read_episodes(&all[at.episodes], envs_.spec().reward_terms.size());
  stats_.explained_variance = explained_variance(&all[at.advantage]);
  stats_.kl = x.sums.kl / x.sums.n;
  stats_.surrogate_loss = x.sums.surrogate / x.sums.n;
  stats_.value_loss = x.sums.value / x.sums.n;
  stats_.entropy = x.sums.entropy / x.sums.n;
  stats_.clip_fraction = x.sums.clipped / x.sums.n;
  stats_.gradient_norm = x.gradient_norm / (options_.num_learning_epochs * plan_.num_mini_batches);
  stats_.learning_rate = x.learning_rate;
  double std_sum = 0;
  for (size_t k = 0; k < host_std_.size(); ++k) std_sum += static_cast<double>(host_std_[k]);
  stats_.action_std = std_sum / static_cast<double>(host_std_.size());  // NaN for discrete actions
}

Normalizers GpuPpo::device_normalizers() const {
  return {device_obs_normalizer_.view(), device_critic_normalizer_.view()};
}

// As Ppo's, name by name.
void GpuPpo::visit_state(StateVisitor& visitor) {
  const auto count = static_cast<int64_t>(parameters_);
  for (const ParamSlice& slice : engine_.layout()) visitor.array(slice.name, host_params_ + slice.offset, slice.shape);
  visitor.scalar("optimizer/steps", host_numbers_->adam_steps);
  visitor.array("optimizer/m", host_params_ + count, {count});
  visitor.array("optimizer/v", host_params_ + 2 * count, {count});
  visitor.scalar("optimizer/learning_rate", host_numbers_->learning_rate);
  obs_normalizer_.visit_state(visitor, "normalizer/obs");
  critic_normalizer_.visit_state(visitor, "normalizer/critic_obs");
  visitor.scalar("rollout/lifetime_step", host_numbers_->lifetime_step);
  const RolloutView& r = rollout_->view;
  visitor.array("rollout/obs", host_obs_, {r.num_envs, r.obs_dim}, Sharding::per_env);
  if (host_critic_obs_)
    visitor.array("rollout/critic_obs", host_critic_obs_, {r.num_envs, r.critic_obs_dim}, Sharding::per_env);
  envs_.visit_state(visitor);
}

void GpuPpo::state_changed() {
  obs_normalizer_.refresh();
  critic_normalizer_.refresh();
  push_state();
}

void GpuPpo::push_state() {
  mirror_.push(stream_);
  device_obs_normalizer_.push(obs_normalizer_, stream_);
  device_critic_normalizer_.push(critic_normalizer_, stream_);
  gpu::synchronize(stream_);
}

void GpuPpo::state_needed() {
  const gpu::Range range("save");
  mirror_.fetch(stream_, Sharding::per_env);
  gpu::synchronize(stream_);
}

void GpuPpo::set_learning_rate(double learning_rate) {
  state_needed();  // all of it is pushed
  host_numbers_->learning_rate = learning_rate;
  push_state();
}

}  // namespace drl

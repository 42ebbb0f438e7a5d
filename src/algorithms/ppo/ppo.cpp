#include "algorithms/ppo/ppo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/log.hpp"
#include "nets/kernels.hpp"

namespace drl {
namespace {

LossSettings loss_settings(const PpoOptions& options) {
  LossSettings loss;
  loss.clip_param = static_cast<float>(options.clip_param);
  loss.value_clip =
      options.use_clipped_value_loss ? static_cast<float>(options.value_clip) : std::numeric_limits<float>::infinity();
  loss.value_loss_coef = static_cast<float>(options.value_loss_coef);
  loss.entropy_coef = static_cast<float>(options.entropy_coef);
  return loss;
}

// Throws the same error on all ranks if one of them had numbers that are not finite.
void require_finite(std::span<const double> reduced, const ReduceLayout& at, int world_size) {
  for (int rank = 0; rank < world_size; ++rank)
    if (reduced[at.bad_numbers + static_cast<size_t>(rank)] > 0)
      throw SharedError(
          "numbers are not finite on rank " + std::to_string(rank) +
          " (an observation, reward or value is NaN or infinite): lower ppo.learning_rate or ppo.reward_scale, or "
          "check the task; the last checkpoint is from before");
}

// The advantage is what the value failed to explain of the return.
double explained_variance(const double* m) {
  const double of_return = variance(m[0], m[3], m[4]);
  return of_return > 0 ? 1 - variance(m[0], m[1], m[2]) / of_return : 0;
}

}  // namespace

void check_ppo(const PolicyOptions& policy, const BatchPlan& plan) {
  plan.check();
  if (policy.std_min > policy.std_max)
    throw UsageError("policy.std_min is above policy.std_max (no standard deviation is left): exchange them");
}

double scheduled_learning_rate(const PpoOptions& options, int64_t iteration) {
  if (options.schedule == "fixed") return options.learning_rate;
  const double done = static_cast<double>(iteration) / options.schedule_iterations;
  return options.learning_rate * std::max(0.0, 1 - done);
}

Ppo::Ppo(Queue& queue, const PpoOptions& options, const PolicyOptions& policy, const BatchPlan& plan, uint64_t seed,
         const ActorCritic& spec, Nets& nets, VecEnv& envs, bool graphs)
    : queue_(queue),
      options_(options),
      policy_(policy),
      plan_((check_ppo(policy, plan), plan)),
      seed_(seed),
      spec_(spec),
      nets_(nets),
      envs_(envs),
      graphs_(graphs && queue.on_gpu()),
      count_(spec.layout.size()),
      rollout_(queue, envs.spec(), plan.num_steps, plan.num_envs),
      state_(queue, static_cast<size_t>(3 * count_)),
      gradient_(queue, static_cast<size_t>(count_ + kTailSize)),
      numbers_(queue, 1),
      host_numbers_(queue, 1, Memory::host),
      inputs_(queue, 1),
      host_inputs_(queue, 1, Memory::host),
      collector_(nets, spec, envs, rollout_, seed, plan.rank * plan.num_envs, ActionChoice::sample, state_.data()),
      obs_normalizer_(queue, options.obs_normalization ? envs.spec().obs_dim : 0),
      critic_normalizer_(queue, options.obs_normalization ? envs.spec().critic_obs_dim : 0),
      rows_(queue, static_cast<size_t>(plan.rows())),
      actor_tape_(nets.make_tape(spec.actor)),
      critic_tape_(nets.make_tape(spec.critic)),
      began_(queue.make_event()),
      collected_(queue.make_event()),
      ended_(queue.make_event()) {
  const TaskSpec& task = envs.spec();
  const RolloutView& r = rollout_.view();
  const auto tile = static_cast<size_t>(std::min(nets.tile(), plan.rows())), size = static_cast<size_t>(r.out_size);
  const auto on_device = [&](Array<float>& array, size_t numbers) { array = Array<float>(queue, numbers); };
  on_device(policy_out_, tile * size), on_device(d_policy_, tile * size);
  on_device(value_, tile), on_device(d_value_, tile);
  on_device(last_values_, static_cast<size_t>(r.last_rows * r.num_envs));
  const auto columns =
      std::max({5, static_cast<int>(episode_columns(task)), 2 * task.obs_dim, 2 * task.critic_obs_dim});
  scratch_ = Array<double>(queue, sum_scratch(queue, columns));
  loss_scratch_ = Array<double>(queue, sum_scratch(queue, kLossColumns + free_parameters()));
  host_params_ = Array<float>(queue, static_cast<size_t>(count_), Memory::host);
  host_std_ = Array<float>(queue, collector_.distribution().std().size(), Memory::host);

  initialize_parameters(spec, policy, seed, host_params_);
  queue.copy(params(), host_params_.data(), host_params_.size());
  host_numbers_[0].learning_rate = options.learning_rate;
  host_numbers_[0].loss = loss_settings(options);
  queue.copy(numbers_.data(), host_numbers_.data(), 1);
  envs.reset(queue, rollout_.start_row());
  queue.synchronize();
  fingerprints_ = std::make_unique<Fingerprints>(queue, list_state([this](StateVisitor& v) { visit_state(v); }));
}

void Ppo::iterate(int64_t iteration, Communicator& comm, std::span<double> riders) {
  if (at_.size == 0) prepare(riders.size(), comm);
  enqueue_inputs(iteration, riders);
  began_->record();
  {
    const Queue::Range range(queue_, "collect");
    run(collection_, comm, [&] { enqueue_collection(); });
  }
  collected_->record();
  {
    const Queue::Range range(queue_, "update");
    run(reduction_, comm, [&] {
      enqueue_advantages();
      enqueue_reduction(comm);
    });
    for (int round = 0; round < options_.num_learning_epochs * plan_.num_mini_batches; ++round)
      run(mini_batch_, comm, [&] { enqueue_mini_batch(comm); });
    run(end_, comm, [&] { enqueue_end(); });
  }
  ended_->record();
  comm.wait([&] { return queue_.done(); });
  warm_ = true;
  read_outputs(comm, riders);
  stats_.collection_time = collected_->seconds_since(*began_);
  stats_.learning_time = ended_->seconds_since(*collected_);
}

void Ppo::prepare(size_t riders, Communicator& comm) {
  at_.advantage = riders;
  at_.episodes = at_.advantage + 5;
  at_.obs = at_.episodes + episode_columns(envs_.spec());
  at_.critic_obs = at_.obs + obs_normalizer_.moments_size();
  at_.fingerprints = at_.critic_obs + critic_normalizer_.moments_size();
  at_.bad_numbers = at_.fingerprints + static_cast<size_t>(comm.size());
  at_.size = at_.bad_numbers + static_cast<size_t>(comm.size());
  reduced_ = Array<double>(queue_, at_.size);
  host_reduced_ = Array<double>(queue_, at_.size, Memory::host);
}

// What changes from one iteration to the next reaches the graphs through the queue's memory.
void Ppo::enqueue_inputs(int64_t iteration, std::span<const double> riders) {
  host_inputs_[0] = {iteration, options_.schedule == "adaptive" ? std::numeric_limits<double>::quiet_NaN()
                                                                : scheduled_learning_rate(options_, iteration)};
  queue_.copy(inputs_.data(), host_inputs_.data(), 1);
  std::copy(riders.begin(), riders.end(), host_reduced_.data());
  std::fill(host_reduced_.begin() + riders.size(), host_reduced_.end(), 0.0);
  queue_.copy(reduced_.data(), host_reduced_.data(), host_reduced_.size());
}

void Ppo::enqueue_collection() {
  int64_t* step = &numbers_.data()->lifetime_step;
  collector_.collect(params(), normalizers().obs, step);
  for_each(queue_, 1, AdvanceLifetime{step, plan_.num_steps});
}

void Ppo::enqueue_advantages() {
  const RolloutView& r = rollout_.view();
  const NormalizerView normalizer = normalizers().critic();
  nets_.forward(spec_.critic, params(), {r.critic_input(), nullptr, r.samples() + r.num_envs, normalizer}, r.value);
  nets_.forward(spec_.critic, params(), {r.last_critic_input(), nullptr, r.last_rows * r.num_envs, normalizer},
                last_values_.data());
  for_each(queue_, r.num_envs,
           Advantages{r, static_cast<float>(options_.gamma), static_cast<float>(options_.lam),
                      static_cast<float>(options_.reward_scale), last_values_.data()});
}

// The iteration's one float64 all-reduce.
void Ppo::enqueue_reduction(Communicator& comm) {
  const RolloutView& r = rollout_.view();
  double *all = reduced_.data(), *slots = all + at_.bad_numbers;
  for_each(queue_, 1, SetNumber{all + at_.advantage, static_cast<double>(r.samples())});
  sum_columns(queue_, r.samples(), 4, scratch_.data(), AdvantageMoments{r.advantage, r.return_target},
              StoreTo{all + at_.advantage + 1});
  envs_.take_episode_sums(queue_, all + at_.episodes, scratch_.data());
  obs_normalizer_.moments(r.obs, r.samples(), all + at_.obs, scratch_.data());
  critic_normalizer_.moments(r.critic_obs, r.samples(), all + at_.critic_obs, scratch_.data());
  fingerprints_->enqueue(all + at_.fingerprints + comm.rank());
  for_each(queue_, 1, CheckFinite{all + at_.advantage, slots, slots + comm.rank()});
  comm.all_reduce_sum(std::span<double>(all, at_.size), {queue_.native()});
  for_each(queue_, 1, BeginUpdate{numbers_.data(), all + at_.advantage, inputs_.data()});
}

// Gradient sums of all ranks in one all-reduce, with n, KL and losses in its tail.
void Ppo::enqueue_mini_batch(Communicator& comm) {
  PpoNumbers* numbers = numbers_.data();
  float *gradient = gradient_.data(), *tail = gradient + count_;
  const int64_t free = free_parameters(), columns = kLossColumns + free;
  for_each(queue_, plan_.rows(), MiniBatchRows{plan_, seed_, numbers, rows_.data()});
  queue_.clear(gradient, static_cast<size_t>(count_));
  clear_sums(queue_, columns, loss_scratch_.data());
  for (int64_t first = 0; first < plan_.rows(); first += nets_.tile())
    enqueue_tile(first, std::min(nets_.tile(), plan_.rows() - first));
  finish_sums(queue_, columns, loss_scratch_.data(),
              StoreLoss{static_cast<float>(plan_.rows()), tail, gradient + spec_.std_offset()});
  {
    const Queue::Range range(queue_, "all-reduce");
    comm.all_reduce_sum(std::span<float>(gradient, gradient_.size()), {queue_.native()});
  }
  const int64_t first_critic = spec_.first_critic_parameter(), std_begin = spec_.std_offset();
  sum_columns(queue_, count_, 2, scratch_.data(), GradientSquares{gradient, tail, first_critic},
              StoreTo{&numbers->squared_norms[0]});
  for_each(queue_, 1,
           SettleStep{numbers, tail, options_.schedule == "adaptive", options_.desired_kl, options_.max_grad_norm,
                      options_.adam_eps});
  const auto bound = [&](double std) { return static_cast<float>(spec_.log_std ? std::log(std) : std); };
  for_each(queue_, count_,
           AdamStep{numbers, gradient, tail, params(), params() + count_, params() + 2 * count_, first_critic,
                    std_begin, std_begin + free, bound(policy_.std_min), bound(policy_.std_max)});
}

// Forward, loss and backward of some of the mini-batch's samples.
void Ppo::enqueue_tile(int64_t first, int64_t count) {
  const RolloutView& r = rollout_.view();
  const int32_t* rows = rows_.data() + first;
  nets_.forward(spec_.actor, params(), {r.obs, rows, count, normalizers().obs}, policy_out_.data(), actor_tape_.get());
  nets_.forward(spec_.critic, params(), {r.critic_input(), rows, count, normalizers().critic()}, value_.data(),
                critic_tape_.get());
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        add_rows(queue_, count, kLossColumns + free_parameters(), loss_scratch_.data(),
                 PpoLoss<Policy>{policy, r, &numbers_.data()->loss, rows, policy_out_.data(), value_.data(),
                                 d_policy_.data(), d_value_.data()});
      },
      collector_.distribution().get());
  nets_.backward(spec_.actor, params(), *actor_tape_, d_policy_.data(), gradient_.data());
  nets_.backward(spec_.critic, params(), *critic_tape_, d_value_.data(), gradient_.data());
}

// What the host reports, and the first row of what comes next.
void Ppo::enqueue_end() {
  rollout_.roll_over();
  queue_.copy(host_numbers_.data(), numbers_.data(), 1);
  queue_.copy(host_reduced_.data(), reduced_.data(), host_reduced_.size());
  queue_.copy(host_std_.data(), collector_.distribution().std().data(), host_std_.size());
}

// Enqueues the work, on a GPU from the second iteration on as a recording.
void Ppo::run(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue) {
  if (graphs_ && warm_ && !recorded.recording) record(recorded, comm, enqueue);
  if (!recorded.recording) return enqueue();
  queue_.launch(*recorded.recording);
  comm.count_replayed(recorded.comm, {queue_.native()});
}

// All ranks have recorded, or none launches what it has: else one would wait for collectives that the others do not
// enqueue in the same order.
void Ppo::record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue) {
  std::string problem;
  try {
    recorded.comm = comm.capture([&] { recorded.recording = queue_.record(enqueue); });
  } catch (const Error& error) {
    problem = error.what();
  }
  const std::vector<std::string> problems = gather_texts(comm, problem);
  std::string first;
  for (size_t rank = 0; rank < problems.size() && first.empty(); ++rank)
    if (!problems[rank].empty()) first = "rank " + std::to_string(rank) + ": " + problems[rank];
  first = broadcast_text(comm, first);
  if (first.empty()) return;
  graphs_ = false;
  for (Recorded* each : {&collection_, &reduction_, &mini_batch_, &end_}) each->recording.reset();
  if (comm.rank() == 0)
    log::warn("the GPU's work cannot be recorded ({}): it is enqueued kernel by kernel, more slowly", first);
}

void Ppo::read_outputs(Communicator& comm, std::span<double> riders) {
  const std::span<const double> all(host_reduced_.data(), host_reduced_.size());
  const PpoNumbers& x = host_numbers_[0];
  require_finite(all, at_, comm.size());
  if (x.bad_gradient)
    throw SharedError(
        "the gradient is not finite (the learning diverged): lower ppo.learning_rate; the last checkpoint is from "
        "before");
  std::copy_n(all.begin(), riders.size(), riders.begin());
  // Only now: the normaliser is frozen from the first step of the collection to the last mini-batch.
  obs_normalizer_.merge(all.subspan(at_.obs, obs_normalizer_.moments_size()));
  critic_normalizer_.merge(all.subspan(at_.critic_obs, critic_normalizer_.moments_size()));

  stats_.episodes = read_episodes(&all[at_.episodes], envs_.spec().reward_terms.size());
  stats_.explained_variance = explained_variance(&all[at_.advantage]);
  stats_.kl = x.sums[kKl] / x.n;
  stats_.surrogate_loss = x.sums[kSurrogate] / x.n;
  stats_.value_loss = x.sums[kValue] / x.n;
  stats_.entropy = x.sums[kEntropy] / x.n;
  stats_.clip_fraction = x.sums[kClipped] / x.n;
  stats_.gradient_norm = x.gradient_norm / (options_.num_learning_epochs * plan_.num_mini_batches);
  stats_.learning_rate = x.learning_rate;
  double std_sum = 0;
  for (float std : host_std_) std_sum += static_cast<double>(std);
  stats_.action_std = std_sum / static_cast<double>(host_std_.size());  // NaN for choices
}

void Ppo::visit_state(StateVisitor& visitor) {
  const auto replicated = Sharding::replicated;
  for (const ParamSlice& slice : spec_.layout.slices())
    visitor.array(slice.name, params() + slice.offset, slice.shape, replicated, &queue_);
  PpoNumbers* numbers = numbers_.data();
  visitor.scalar("optimizer/steps", numbers->adam_steps, &queue_);
  for (const auto& [name, moment] : {std::pair{"optimizer/m", 1}, {"optimizer/v", 2}}) {
    StateField field{name, DType::f32, {spec_.layout.count()}, nullptr, replicated, &queue_};
    for (const ParamSlice& slice : spec_.layout.slices())
      field.parts.push_back({params() + moment * count_ + slice.offset, slice.count()});
    visitor.field(field);
  }
  visitor.scalar("optimizer/learning_rate", numbers->learning_rate, &queue_);
  obs_normalizer_.visit_state(visitor, "normalizer/obs");
  critic_normalizer_.visit_state(visitor, "normalizer/critic_obs");
  visitor.scalar("rollout/lifetime_step", numbers->lifetime_step, &queue_);
  const RolloutView& r = rollout_.view();
  visitor.array("rollout/obs", r.obs, {r.num_envs, r.obs_dim}, Sharding::per_env, &queue_);
  if (r.critic_obs_dim > 0)
    visitor.array("rollout/critic_obs", r.critic_obs, {r.num_envs, r.critic_obs_dim}, Sharding::per_env, &queue_);
  envs_.visit_state(visitor);
}

void Ppo::state_changed() {
  obs_normalizer_.refresh();
  critic_normalizer_.refresh();
  queue_.synchronize();
}

void Ppo::set_learning_rate(double learning_rate) {
  queue_.copy(&numbers_.data()->learning_rate, &learning_rate, 1);
  queue_.synchronize();
}

std::span<const float> Ppo::host_parameters() {
  queue_.copy(host_params_.data(), params(), host_params_.size());
  queue_.synchronize();
  return host_params_;
}

}  // namespace drl

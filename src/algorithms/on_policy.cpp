#include "algorithms/on_policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "policy/initialize.hpp"

namespace drl {
namespace {

void check_options(const PolicyOptions& policy) {
  if (policy.std_min > policy.std_max)
    throw UsageError(
        "policy.std_min is above policy.std_max (no standard deviation satisfies both): swap the two values");
}

}  // namespace

double scheduled_learning_rate(const UpdateOptions& options, int64_t iteration) {
  if (options.schedule == "fixed") return options.learning_rate;
  const double done = static_cast<double>(iteration) / options.schedule_iterations;
  return options.learning_rate * std::max(0.0, 1 - done);
}

std::string warning_of_schedule(const UpdateOptions& options, std::string_view section, int64_t done,
                                int64_t max_iterations) {
  const int64_t end = options.schedule_iterations, first = std::max(done, end) + 1;
  if (options.schedule != "linear" || first > max_iterations) return "";
  return fmt::format(
      "iterations {} to {} do not train the policy (the linear schedule of the learning rate ends at iteration {}): "
      "give --{}.schedule_iterations {} too, or a smaller --max_iterations",
      first, max_iterations, end, section, max_iterations);
}

OnPolicy::OnPolicy(const LearnerParts& parts, const UpdateOptions& options, Shape shape)
    : queue_(parts.queue),
      options_(options),
      policy_((check_options(parts.policy), parts.policy)),
      shape_(std::move(shape)),
      plan_(parts.plan),
      seed_(parts.seed),
      spec_(parts.spec),
      nets_(parts.nets),
      envs_(parts.envs),
      watch_(parts.watch),
      graphs_(parts.graphs && queue_.on_gpu()),
      count_(spec_.layout.size()),
      rollout_(queue_, envs_.spec(), plan_.num_steps, plan_.num_envs),
      state_(queue_, static_cast<size_t>(3 * count_)),
      gradient_(queue_, static_cast<size_t>(count_ + shape_.loss_columns)),
      numbers_(queue_, 1),
      host_numbers_(queue_, 1, Memory::host),
      inputs_(queue_, 1),
      host_inputs_(queue_, 1, Memory::host),
      obs_normalizer_(queue_, spec_.normalized(), spec_.normalizer.value_or(NormalizerRule{})),
      critic_normalizer_(queue_, spec_.normalized_of_critic(), spec_.normalizer.value_or(NormalizerRule{})),
      actor_(queue_, nets_, spec_, state_.data(), obs_normalizer_.view()),
      collector_(actor_, envs_, rollout_, {ActionChoice::sample, seed_, plan_.rank * plan_.num_envs}),
      rows_(queue_, static_cast<size_t>(plan_.rows())),
      began_(queue_.make_event()),
      collected_(queue_.make_event()),
      ended_(queue_.make_event()),
      rollout_sums_(shape_.rollout_sums) {
  DRL_CHECK(shape_.loss_columns <= kMaxLossColumns, "the loss has more columns than UpdateNumbers::sums");
  const TaskSpec& task = envs_.spec();
  const auto columns = std::max({static_cast<int>(shape_.rollout_sums), static_cast<int>(episode_columns(task)),
                                 2 * task.obs_dim, 2 * task.critic_obs_dim});
  scratch_ = Array<double>(queue_, sum_scratch(queue_, columns));
  loss_scratch_ = Array<double>(queue_, sum_scratch(queue_, loss_columns()));
  for (NetId net : {spec_.actor, spec_.critic}) {
    if (net < 0) continue;
    const auto numbers = static_cast<size_t>(tile_rows() * spec_.layout.net(net).outputs());
    passes_.push_back({nets_.make_tape(net), Array<float>(queue_, numbers), Array<float>(queue_, numbers)});
  }
  tile_.policy_out = passes_.front().out.data(), tile_.d_policy = passes_.front().d_out.data();
  tile_.value = passes_.back().out.data(), tile_.d_value = passes_.back().d_out.data();
  host_params_ = Array<float>(queue_, static_cast<size_t>(count_), Memory::host);
  host_std_ = Array<float>(queue_, actor_.std().size(), Memory::host);

  initialize_parameters(spec_, policy_, seed_, host_params_);
  queue_.copy(params(), host_params_.data(), host_params_.size());
  actor_.repack();
  host_numbers_[0].learning_rate = options.learning_rate;
  queue_.copy(numbers_.data(), host_numbers_.data(), 1);
  queue_.synchronize();
}

void OnPolicy::iterate(int64_t iteration, Communicator& comm, std::span<double> extra_sums) {
  if (offsets_.size == 0) prepare(extra_sums.size(), comm);
  prepare_iteration(iteration);
  set_inputs(iteration, extra_sums);
  began_->record();
  {
    const Queue::Range range(queue_, "collect");
    if (envs_.steps_on_host()) {  // a graph cannot contain the host's work
      enqueue_collection();
    } else {
      run(collection_, comm, [&] { enqueue_collection(); });
    }
  }
  collected_->record();
  {
    const Queue::Range range(queue_, "update");
    run(reduction_, comm, [&] { enqueue_reduction(comm); });
    for (int update = 0; update < options_.num_learning_epochs * plan_.num_mini_batches; ++update)
      run(mini_batch_, comm, [&] { enqueue_mini_batch(comm); });
    run(end_, comm, [&] { enqueue_outputs(); });
  }
  ended_->record();
  comm.wait([&] { return queue_.done(); });
  warm_ = true;
  read_outputs(comm, extra_sums);
  stats_.collection_time = collected_->seconds_since(*began_);
  stats_.learning_time = ended_->seconds_since(*collected_);
}

void OnPolicy::prepare(size_t extra_sums, Communicator& comm) {
  fingerprints_ = std::make_unique<Fingerprints>(queue_, list_state([this](StateVisitor& v) { visit_state(v); }));
  offsets_.rollout = extra_sums;
  offsets_.episodes = offsets_.rollout + shape_.rollout_sums;
  offsets_.obs = offsets_.episodes + episode_columns(envs_.spec());
  offsets_.critic_obs = offsets_.obs + obs_normalizer_.moments_size();
  offsets_.fingerprints = offsets_.critic_obs + critic_normalizer_.moments_size();
  offsets_.not_finite = offsets_.fingerprints + static_cast<size_t>(comm.size());
  offsets_.size = offsets_.not_finite + static_cast<size_t>(comm.size());
  reduced_ = Array<double>(queue_, offsets_.size);
  host_reduced_ = Array<double>(queue_, offsets_.size, Memory::host);
}

// Sets the values that change from one iteration to the next. Recorded graphs read them from the queue's memory.
void OnPolicy::set_inputs(int64_t iteration, std::span<const double> extra_sums) {
  host_inputs_[0] = {iteration, options_.schedule == "adaptive" ? std::numeric_limits<double>::quiet_NaN()
                                                                : scheduled_learning_rate(options_, iteration)};
  std::copy(extra_sums.begin(), extra_sums.end(), host_reduced_.data());
  std::fill(host_reduced_.begin() + extra_sums.size(), host_reduced_.end(), 0.0);
}

void OnPolicy::enqueue_collection() {
  queue_.copy(inputs_.data(), host_inputs_.data(), 1);
  queue_.copy(reduced_.data(), host_reduced_.data(), host_reduced_.size());
  const int64_t* step = &numbers_.data()->lifetime_step;
  enqueue_before_rollout(step);
  if (watch_) watch_->rollout_begins(queue_, envs_, rollout_.view());
  collector_.collect(step);
  // This must be part of the collection, because the work after it is recorded, and the host, which computes these
  // sums for some tasks, cannot be recorded.
  envs_.take_episode_sums(queue_, reduced_.data() + offsets_.episodes, scratch_.data());
}

// Enqueues the iteration's float64 all-reduce and the start of the update.
void OnPolicy::enqueue_reduction(Communicator& comm) {
  const RolloutView& r = rollout_.view();
  double *all = reduced_.data(), *slots = all + offsets_.not_finite;
  enqueue_rollout_sums(all + offsets_.rollout);
  obs_normalizer_.moments(r.obs, r.samples(), all + offsets_.obs, scratch_.data());
  critic_normalizer_.moments(r.critic_obs, r.samples(), all + offsets_.critic_obs, scratch_.data());
  fingerprints_->enqueue(all + offsets_.fingerprints + comm.rank());
  for_each(queue_, 1, CheckFinite{all + offsets_.rollout, slots, slots + comm.rank()});
  comm.all_reduce_sum(std::span<double>(all, offsets_.size), {queue_.native()});
  enqueue_before_update({numbers_.data(), inputs_.data(), plan_.num_steps}, all + offsets_.rollout);
}

// Enqueues the computation of this rank's gradient and loss sums over a mini-batch. The backend of the networks may
// compute them as a whole (Nets::gradient). Otherwise the mini-batch is processed tile by tile: forward, loss,
// backward.
void OnPolicy::enqueue_gradient() {
  const RolloutView& r = rollout_.view();
  const int64_t count = plan_.rows();
  const Batch::Input of_both[] = {{spec_.actor, {r.obs, rows_.data(), count, normalizers().obs}},
                                  {spec_.critic, {r.critic_input(), rows_.data(), count, normalizers().critic()}}};
  const std::span<const Batch::Input> inputs(of_both, passes_.size());
  const auto distribution_id = static_cast<DistributionId>(distribution().index());
  if (nets_.gradient({inputs, actor_.weights(), loss_.get()}, loss_id_, distribution_id, gradient_.data())) return;

  clear_sums(queue_, loss_columns(), loss_scratch_.data());
  for (int64_t first = 0; first < count; first += tile_rows()) {
    const int64_t num_rows = std::min(tile_rows(), count - first);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto& [net, rows] = inputs[k];
      nets_.forward(net, actor_.weights(), rows.part(first, num_rows, nets_.layout().net(net).inputs()),
                    passes_[k].out.data(), passes_[k].tape.get());
    }
    add_loss_(rows_.data() + first, num_rows);
    for (size_t k = 0; k < inputs.size(); ++k)
      nets_.backward(inputs[k].net, actor_.weights(), *passes_[k].tape, passes_[k].d_out.data(), gradient_.data());
  }
  finish_sums(queue_, loss_columns(), loss_scratch_.data(),
              StoreLoss{shape_.loss_columns, gradient_.data() + count_, gradient_.data() + spec_.std_offset()});
}

// Enqueues a mini-batch's gradient, its all-reduce over the ranks with the loss's columns as tail, and the Adam step.
void OnPolicy::enqueue_mini_batch(Communicator& comm) {
  UpdateNumbers* numbers = numbers_.data();
  float *gradient = gradient_.data(), *tail = gradient + count_;
  enqueue_before_mini_batch(numbers, reduced_.data() + offsets_.rollout);
  for_each(queue_, plan_.rows(), MiniBatchRows{{plan_, seed_}, numbers, rows_.data()});
  queue_.clear(gradient, gradient_.size());
  enqueue_gradient();
  {
    const Queue::Range range(queue_, "all-reduce");
    comm.all_reduce_sum(std::span<float>(gradient, gradient_.size()), {queue_.native()});
  }
  const int64_t first_critic = spec_.first_critic_parameter(), std_begin = spec_.std_offset(),
                std_end = std_begin + free_parameters(distribution());
  sum_columns(queue_, count_, GradientSquares::kColumns, scratch_.data(), GradientSquares{gradient, tail, first_critic},
              StoreTo{&numbers->squared_norms[0]});
  for_each(
      queue_, 1,
      PrepareAdamStep{numbers, tail, shape_.loss_columns, options_.schedule == "adaptive",
                      options_.grad_clip == "joint", options_.desired_kl, options_.max_grad_norm, options_.adam_eps});
  const auto bound = [&](double std) { return static_cast<float>(spec_.log_std ? std::log(std) : std); };
  for_each(queue_, count_,
           AdamStep{numbers, gradient, tail, params(), params() + count_, params() + 2 * count_, first_critic,
                    std_begin, std_end, bound(policy_.std_min), bound(policy_.std_max)});
  actor_.repack();
}

// Enqueues copies of the metrics and statistics to the host.
void OnPolicy::enqueue_outputs() {
  enqueue_after_update();
  queue_.copy(host_numbers_.data(), numbers_.data(), 1);
  queue_.copy(host_reduced_.data(), reduced_.data(), host_reduced_.size());
  queue_.copy(host_std_.data(), actor_.std().data(), host_std_.size());
}

// Enqueues the work. A GPU records the work in the second iteration, and launches the recording from then on.
void OnPolicy::run(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue) {
  if (graphs_ && warm_ && !recorded.recording) record(recorded, comm, enqueue);
  if (!recorded.recording) return enqueue();
  queue_.launch(*recorded.recording);
  comm.count_replayed(recorded.comm, {queue_.native()});
}

// Records the work. If recording fails on any rank, no rank launches recordings: otherwise the ranks would enqueue
// their collectives in different orders and wait for each other.
void OnPolicy::record(Recorded& recorded, Communicator& comm, const std::function<void()>& enqueue) {
  std::string problem;
  try {
    recorded.comm = comm.capture([&] { recorded.recording = queue_.record(enqueue); });
  } catch (const Error& error) {
    if (comm.failed()) throw;  // the ranks cannot even agree that recording failed
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
    log::warn(
        "the GPU's work could not be recorded as a graph ({}): kernels are launched one at a time, which is slower but "
        "gives the same results",
        first);
}

// Throws the same error on all ranks if the sums of one of them were not finite.
void OnPolicy::require_finite(std::span<const double> reduced, int world_size) const {
  for (int rank = 0; rank < world_size; ++rank)
    if (reduced[offsets_.not_finite + static_cast<size_t>(rank)] > 0)
      throw SharedError("the rollout of rank " + std::to_string(rank) +
                        " is not finite (an observation, reward or value is NaN or infinite): lower " + shape_.remedy +
                        ", or check the task; the last checkpoint was saved before this happened");
}

void OnPolicy::read_outputs(Communicator& comm, std::span<double> extra_sums) {
  const std::span<const double> all(host_reduced_.data(), host_reduced_.size());
  require_finite(all, comm.size());
  if (host_numbers_[0].gradient_not_finite)
    throw SharedError("the gradient is not finite (learning has diverged): lower " + shape_.remedy +
                      "; the last checkpoint was saved before this happened");
  std::copy_n(all.begin(), extra_sums.size(), extra_sums.begin());
  // The normaliser is frozen from the first step of the collection to the last mini-batch, so it is updated here.
  obs_normalizer_.merge(all.subspan(offsets_.obs, obs_normalizer_.moments_size()));
  critic_normalizer_.merge(all.subspan(offsets_.critic_obs, critic_normalizer_.moments_size()));

  std::copy_n(all.begin() + static_cast<ptrdiff_t>(offsets_.rollout), rollout_sums_.size(), rollout_sums_.begin());
  end_iteration();
  stats_.episodes = read_episodes(&all[offsets_.episodes], envs_.spec());
  if (watch_)
    watch_->rollout_ended(host_inputs_[0].iteration, host_numbers_[0].lifetime_step - plan_.num_steps, rollout_.view(),
                          stats_.episodes);
  envs_.iteration_ended(queue_, host_inputs_[0].iteration, stats_.episodes, stats_.curriculum);
}

double OnPolicy::gradient_norm() const {
  return host_numbers_[0].gradient_norm / (options_.num_learning_epochs * plan_.num_mini_batches);
}

double OnPolicy::action_std() const {
  double sum = 0;
  for (float std : host_std_) sum += static_cast<double>(std);
  return sum / static_cast<double>(host_std_.size());
}

// Lists the slices of the layout as the field's parts, without the padding between them.
void OnPolicy::visit_parameters(StateVisitor& visitor, const std::string& name, float* numbers) {
  StateField field{name, DType::f32, {spec_.layout.count()}, nullptr, Sharding::replicated, &queue_};
  for (const ParamSlice& slice : spec_.layout.slices()) field.parts.push_back({numbers + slice.offset, slice.count()});
  visitor.field(field);
}

void OnPolicy::visit_state(StateVisitor& visitor) {
  const auto replicated = Sharding::replicated;
  for (const ParamSlice& slice : spec_.layout.slices())
    visitor.array(slice.name, params() + slice.offset, slice.shape, replicated, &queue_);
  UpdateNumbers* numbers = numbers_.data();
  visitor.scalar("optimizer/steps", numbers->adam_steps, &queue_);
  visit_parameters(visitor, "optimizer/m", params() + count_);
  visit_parameters(visitor, "optimizer/v", params() + 2 * count_);
  visitor.scalar("optimizer/learning_rate", numbers->learning_rate, &queue_);
  obs_normalizer_.visit_state(visitor, "normalizer/obs");
  critic_normalizer_.visit_state(visitor, "normalizer/critic_obs");
  visitor.scalar("rollout/lifetime_step", numbers->lifetime_step, &queue_);
  envs_.visit_shared_state(visitor);
}

void OnPolicy::state_changed() {
  actor_.repack();
  obs_normalizer_.refresh();
  critic_normalizer_.refresh();
  queue_.synchronize();
}

void OnPolicy::set_learning_rate(double learning_rate) {
  queue_.copy(&numbers_.data()->learning_rate, &learning_rate, 1);
  queue_.synchronize();
}

std::span<const float> OnPolicy::host_parameters() {
  queue_.copy(host_params_.data(), params(), host_params_.size());
  queue_.synchronize();
  return host_params_;
}

}  // namespace drl

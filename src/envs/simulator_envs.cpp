#include "envs/simulator_envs.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/for_each.hpp"
#include "device/reduce.hpp"
#include "envs/keep_last.hpp"

namespace drl {
namespace {

void wait_for(Queue::Event& event) {
  while (!event.passed()) std::this_thread::yield();
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

SimulatorEnvs::SimulatorEnvs(const TaskRecord& record, const EnvConfig& config, Queue& queue)
    : own_queue_(queue.on_gpu() ? make_host_queue(queue.isa()) : nullptr),
      host_(own_queue_ ? *own_queue_ : queue),
      envs_(record, config, host_),
      team_(static_cast<int>(std::min<int64_t>(config.threads, config.num_envs))),
      in_lanes_(!record.simulator),
      rows_(own_queue_ ? std::make_unique<Rows>(queue, envs_.spec(), config.num_envs) : nullptr) {}

SimulatorEnvs::Rows::Rows(Queue& queue, const TaskSpec& spec, int64_t num_envs) {
  const auto n = static_cast<size_t>(num_envs), obs = n * static_cast<size_t>(spec.obs_dim),
             critic = n * static_cast<size_t>(spec.critic_obs_dim);
  const auto make = [&](auto& array, size_t size, Memory memory = Memory::host) {
    array = std::remove_reference_t<decltype(array)>(queue, size, memory);
  };
  make(action, n * static_cast<size_t>(spec.action.numbers()) * 4);
  make(next_obs, obs), make(last_obs, obs), make(next_critic_obs, critic), make(last_critic_obs, critic);
  make(reward, n), make(terminated, n), make(truncated, n), make(kept, n);
  make(sums, episode_columns(spec));
  const std::unique_ptr<Queue> host = make_host_queue(queue.isa());
  scratch = Array<double>(sum_scratch(*host, static_cast<int64_t>(episode_columns(spec))));
  sums_taken = queue.make_event();
  make(gpu_kept, n, Memory::device);
  make(gpu_last_obs, obs, Memory::device), make(gpu_last_critic_obs, critic, Memory::device);
  sums_taken->record();
}

StepRow SimulatorEnvs::Rows::row(bool every_end) {
  StepRow row;
  row.action = action.data();
  row.next_obs = next_obs.data(), row.next_critic_obs = next_critic_obs.data();
  row.reward = reward.data(), row.terminated = terminated.data(), row.truncated = truncated.data();
  row.last_obs = last_obs.data(), row.last_critic_obs = last_critic_obs.data();
  row.last_count = kept.data(), row.last_rows = 1, row.every_end = every_end;
  return row;
}

void SimulatorEnvs::reset(Queue& queue, const StepRow& row, const Start& start) {
  if (!rows_) return envs_.reset(queue, row, start);
  int64_t first = 0;
  if (start.step.first) queue.copy(&first, start.step.first, 1);
  queue.synchronize();
  envs_.reset(host_, rows_->row(false), {{&first, start.step.offset}, start.group_size});
  queue.copy(row.next_obs, rows_->next_obs.data(), rows_->next_obs.size());
  queue.copy(row.next_critic_obs, rows_->next_critic_obs.data(), rows_->next_critic_obs.size());
}

SimulatorEnvs::Announced& SimulatorEnvs::announced(Queue& queue, int64_t begin, int64_t count) {
  for (Announced& each : rows_->announced)
    if (each.begin == begin && each.count == count) return each;
  return rows_->announced.emplace_back(
      Announced{begin, count, Array<int64_t>(queue, 1, Memory::host), queue.make_event()});
}

void SimulatorEnvs::announce_step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  if (!rows_) return;
  Announced& next = announced(queue, begin, count);
  const size_t width = 4 * static_cast<size_t>(spec().action.numbers()), at = static_cast<size_t>(begin) * width;
  if (step.first) queue.copy(next.first_step.data(), step.first, 1);
  queue.copy_bytes(rows_->action.data() + at, static_cast<const std::byte*>(row.action) + at,
                   static_cast<size_t>(count) * width);
  next.arrived->record();
  next.waiting = true;
}

void SimulatorEnvs::step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  if (!rows_) return step_on_host(step, begin, count, row);
  if (!announced(queue, begin, count).waiting) announce_step(queue, step, begin, count, row);
  Announced& now = announced(queue, begin, count);
  const double begun = seconds();
  wait_for(*now.arrived);  // the previous step's copies to the GPU are then done, too
  const double arrived = seconds();
  now.waiting = false;
  std::fill_n(rows_->kept.data() + begin, count, 0);
  step_on_host({step.first ? now.first_step.data() : nullptr, step.offset}, begin, count, rows_->row(row.every_end));
  rows_->steps += count, rows_->waiting += arrived - begun, rows_->stepping += seconds() - arrived;
  copy_up(queue, begin, count, row);
}

// Cuts the range into several pieces per thread, since environments take different times. Free threads take the next
// piece.
void SimulatorEnvs::step_on_host(LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  if (team_.size() == 1) return envs_.step(host_, step, begin, count, row);
  const int64_t size = in_lanes_ ? kRangeUnit : std::clamp<int64_t>(count / (4 * team_.size()), 1, kRangeUnit);
  team_.run((count + size - 1) / size, [&](int64_t k) {
    const int64_t first = k * size;
    envs_.step(host_, step, begin + first, std::min(size, count - first), row);
  });
}

void SimulatorEnvs::copy_up(Queue& queue, int64_t begin, int64_t count, const StepRow& row) {
  const auto up = [&](auto* to, const auto& from, int64_t width) {
    queue.copy(to + begin * width, from.data() + begin * width, static_cast<size_t>(count * width));
  };
  up(row.next_obs, rows_->next_obs, spec().obs_dim);
  if (spec().critic_obs_dim > 0) up(row.next_critic_obs, rows_->next_critic_obs, spec().critic_obs_dim);
  up(row.reward, rows_->reward, 1);
  up(row.terminated, rows_->terminated, 1), up(row.truncated, rows_->truncated, 1);
  const int32_t* kept = rows_->kept.data() + begin;
  if (row.last_count && std::any_of(kept, kept + count, [](int32_t k) { return k > 0; }))
    keep_last(queue, begin, count, row);
}

void SimulatorEnvs::keep_last(Queue& queue, int64_t begin, int64_t count, const StepRow& row) {
  const auto up = [&](auto& to, const auto& from, int64_t width) {
    queue.copy(to.data() + begin * width, from.data() + begin * width, static_cast<size_t>(count * width));
  };
  up(rows_->gpu_kept, rows_->kept, 1);
  up(rows_->gpu_last_obs, rows_->last_obs, spec().obs_dim);
  up(rows_->gpu_last_critic_obs, rows_->last_critic_obs, spec().critic_obs_dim);
  for_each(queue, begin, begin + count,
           KeepLast{row, num_envs(), spec().obs_dim, spec().critic_obs_dim, rows_->gpu_kept.data(),
                    rows_->gpu_last_obs.data(), rows_->gpu_last_critic_obs.data()});
}

std::string SimulatorEnvs::host_speeds() const {
  if (!rows_ || rows_->steps == 0) return "";
  const auto rate = [&](double time) { return human_count(static_cast<double>(rows_->steps) / time); };
  return fmt::format("environments: {} steps/s on {}, {} including the time to wait for the GPU's actions: {}",
                     rate(rows_->stepping), counted(team_.size(), "thread"), rate(rows_->stepping + rows_->waiting),
                     rows_->waiting > rows_->stepping ? "the GPU is the bottleneck, try a larger --num_envs"
                                                      : "the environments are the bottleneck, try more --threads (-c)");
}

void SimulatorEnvs::take_episode_sums(Queue& queue, double* out, double* scratch) {
  if (!rows_) return envs_.take_episode_sums(queue, out, scratch);
  wait_for(*rows_->sums_taken);
  envs_.take_episode_sums(host_, rows_->sums.data(), rows_->scratch.data());
  queue.copy(out, rows_->sums.data(), rows_->sums.size());
  rows_->sums_taken->record();
}

}  // namespace drl

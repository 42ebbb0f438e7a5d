#include "envs/task_envs.hpp"

#include <span>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "device/launch_watch.hpp"
#include "device/reduce.hpp"
#include "envs/episode_sums.hpp"
#include "envs/task_params.hpp"

namespace drl {

// Returns the names of `frames` frames of these quantities, oldest first.
std::vector<NamedNumber> named_numbers(const Quantity* quantities, int32_t count, int frames) {
  std::vector<NamedNumber> numbers;
  for (int before = frames - 1; before >= 0; --before)
    for (const Quantity& quantity : std::span(quantities, static_cast<size_t>(count)))
      for (int k = 0; k < quantity.count; ++k)
        numbers.push_back({.name = quantity.name + (quantity.count > 1 ? fmt::format("[{}]", k) : std::string()) +
                                   (before > 0 ? fmt::format(" ({} before)", counted(before, "step")) : std::string()),
                           .unit = quantity.unit,
                           .scale = quantity.scale,
                           .offset = quantity.offset,
                           .stiffness = quantity.stiffness,
                           .damping = quantity.damping,
                           .steps_before = before});
  return numbers;
}

namespace {

// Returns the tables of all frames of the observation.
Mirror mirror_of(const TaskRecord& record) {
  Mirror mirror;
  if (!record.mirrored_obs) return mirror;
  for (int32_t first = 0; first < record.history * record.obs_dim; first += record.obs_dim)
    for (int32_t k = 0; k < record.obs_dim; ++k)
      mirror.obs.push_back({first + record.mirrored_obs[k].source, record.mirrored_obs[k].sign});
  if (record.mirrored_critic_obs)
    mirror.critic_obs.assign(record.mirrored_critic_obs, record.mirrored_critic_obs + record.critic_obs_dim);
  mirror.action.assign(record.mirrored_action, record.mirrored_action + record.action_size);
  return mirror;
}

}  // namespace

TaskSpec spec_of(const TaskRecord& record, const EnvSetup& setup) {
  TaskSpec spec;
  spec.name = record.name, spec.step_limit = record.step_limit, spec.dt = record.dt;
  spec.obs_dim = record.obs_dim * record.history, spec.critic_obs_dim = record.critic_obs_dim;
  if (setup.robot) spec.dt = setup.robot->dt;
  if (record.obs_dim_with && !setup.params.empty()) spec.obs_dim = record.obs_dim_with(setup.params.data());
  spec.action.discrete = record.discrete != 0, spec.action.size = record.action_size;
  spec.action.heads.assign(record.heads, record.heads + record.head_count);
  if (!spec.action.discrete) {
    spec.action.low.assign(record.action_low, record.action_low + record.action_size);
    spec.action.high.assign(record.action_high, record.action_high + record.action_size);
    if (record.action_scale) {
      spec.action.scale.assign(record.action_scale, record.action_scale + record.action_size);
      spec.action.offset.assign(record.action_offset, record.action_offset + record.action_size);
    }
  }
  spec.reward_terms.assign(record.reward_terms, record.reward_terms + record.reward_term_count);
  spec.metrics.assign(record.metrics, record.metrics + record.metric_count);
  for (int k = 0; k < record.end_count; ++k) spec.ends.emplace_back(record.ends[k].name);
  if (record.end_count > 0 && record.step_limit > 0) spec.ends.emplace_back("time_out");
  spec.curriculum.assign(record.curriculum_names, record.curriculum_names + record.curriculum_count);
  // With options that change the number of observations, the names may not fit.
  spec.observations = named_numbers(record.observations, record.observation_count, record.history);
  if (static_cast<int>(spec.observations.size()) != spec.obs_dim) spec.observations.clear();
  spec.actions = named_numbers(record.actions, record.action_count, 1);
  if (static_cast<int>(spec.actions.size()) != spec.action.numbers()) spec.actions.clear();
  spec.commands.assign(record.commands, record.commands + record.command_count);
  spec.gate.assign(record.gate, record.gate + record.gate_count);
  if (record.gate_options) spec.gate_options = record.gate_options;
  spec.mirror = mirror_of(record);
  if (static_cast<int>(spec.mirror.obs.size()) != spec.obs_dim) spec.mirror = {};
  spec.truncates = record.truncates != 0, spec.finite_horizon = record.finite_horizon != 0;
  return spec;
}

void require_draw(const TaskRecord& record) {
  if (!record.draw)
    throw UsageError(std::string("task ") + record.name +
                     " cannot be recorded on video (its header has no draw()): add one (see drl/canvas.hpp)");
}

Isa compiled_isa(const TaskRecord& record, Isa isa) {
  int k = static_cast<int>(isa);
  while (k > 0 && !record.host[k].step) --k;
  return static_cast<Isa>(k);
}

TaskEnvs::TaskEnvs(const TaskRecord& record, const EnvConfig& config, Queue& queue)
    : record_(record),
      config_(config),
      queue_(queue),
      spec_(spec_of(record, config.setup)),
      loops_(loops()),
      age_(queue, size()),
      episode_reward_(queue, size()),
      curriculum_(queue, static_cast<size_t>(record.curriculum_count)),
      ended_by_(queue, record.end_count > 0 ? size() : 0),
      counted_episodes_(queue, size()),
      sums_(queue, static_cast<size_t>(sum_rows()) * episode_columns(spec_)) {
  DRL_CHECK(config.num_envs > 0 && config.first_global_index >= 0, "environments [first, first + num) must exist");
  if (!config_.setup.record) config_.setup = TaskParams(record).setup();
  DRL_CHECK(config_.setup.record == &record, "parameters of another task");
  int columns = record.obs_dim * (record.history - 1);
  for (int f = 0; f < record.field_count; ++f) columns += record.fields[f].count;
  for (int c = 0; c < columns; ++c) columns_.push_back(state_.emplace_back(queue, size()).data());
  for (int t = 0; t < record.reward_term_count + record.metric_count; ++t)
    term_columns_.push_back(terms_.emplace_back(queue, size()).data());
  queue.copy(curriculum_.data(), record.curriculum_start, curriculum_.size());
  const std::optional<RobotSetup>& robot = config_.setup.robot;
  if (robot) {
    model_bounds_ = Array<float>(queue, robot->model_bounds.size());
    queue.copy(model_bounds_.data(), robot->model_bounds.data(), robot->model_bounds.size());
  }
  const MotorNetwork* network = config_.setup.network_in_lanes();
  DRL_CHECK(!network || !(queue.on_gpu() || config.exact), "only a host's loops in float drive motors by a network");
  motor_memory_ = Array<float>(queue, network ? static_cast<size_t>(record.motors * network->memory) * size() : 0);
  robot_columns_ =
      Array<float>(queue, queue.on_gpu() ? static_cast<size_t>(record.robot_columns) * ((size() + 31) / 32 * 32) : 0);
  queue.synchronize();
  arrays_ = {config.num_envs,
             config.seed,
             config.first_global_index,
             columns_.data(),
             age_.data(),
             episode_reward_.data(),
             term_columns_.data(),
             ended_by_.data(),
             counted_episodes_.data(),
             curriculum_.data(),
             envs_per_sum_row(),
             sums_.data(),
             nullptr,
             model_bounds_.data(),
             record.model_numbers > 0 && robot && robot->model_per_episode ? 1 : 0,
             network,
             motor_memory_.data(),
             robot_columns_.data()};
  if (record.simulator) {
    const RobotChoice choice = robot ? robot->choice() : RobotChoice{};
    simulator_ = std::make_unique<Simulator>(
        record, SimulatorConfig{config.num_envs, config.first_global_index, config.seed, robot ? &choice : nullptr},
        config_.setup.params.data());
    arrays_.simulator = simulator_->handle();
  }
  if (queue.on_gpu()) run(loops_.probe, {});
}

const TaskLoops& TaskEnvs::loops() const {
  if (config_.exact) {
    DRL_CHECK(record_.exact && !queue_.on_gpu(), "only tasks with exact loops, on a host's queue, compute in double");
    return *record_.exact;
  }
  if (!queue_.on_gpu()) {
    const TaskLoops& loops = record_.host[static_cast<int>(compiled_isa(record_, queue_.isa()))];
    if (!loops.step)
      throw UsageError("robot " + spec_.name + " has no code for " + std::string(name_of(queue_.isa())) +
                       " (its library was compiled for newer CPUs): build the library with -DDRL_ISAS=all, or simulate "
                       "the robot with libmujoco (--env.physics mujoco)");
    return loops;
  }
  if (!*record_.gpu)
    throw UsageError(
        "task " + spec_.name +
        " has no code for GPUs (its library was built without nvcc or hipcc): build it where this compiler "
        "is available, or pass --device cpu");
  return **record_.gpu;
}

LoopCall TaskEnvs::call(Queue& queue, const StepRow& row, int64_t begin, int64_t end) const {
  const EnvSetup& setup = config_.setup;
  const float* weights = setup.weights.empty() ? nullptr : setup.weights.data();
  return {&arrays_, setup.params.data(), weights, &row, {}, begin, end, 0, 0, queue.native()};
}

void TaskEnvs::run(TaskLoop loop, const LoopCall& call) const {
  announce(TaskLaunch{&record_, &call}, call.end - call.begin, [&] {
    char error[256] = "";
    if (loop(&call, error, sizeof(error)) != 0) fail(error);
  });
}

void TaskEnvs::fail(const std::string& why) const {
  throw Error("task " + spec_.name + " failed (" + why + "): " +
              (simulator_                         ? "the text in parentheses comes from the simulator"
               : !queue_.on_gpu()                 ? "the text in parentheses comes from the task's library"
               : why.starts_with("no GPU memory") ? "use a GPU that has more memory, or that no other program uses"
                                                  : "check the node's GPUs with drl_doctor"));
}

void TaskEnvs::reset(Queue& queue, const StepRow& row, const Start& start) {
  DRL_CHECK(start.group_size == 0 || config_.first_global_index % start.group_size == 0,
            "a group must not span two ranks");
  queue.clear(sums_.data(), sums_.size());
  LoopCall all = call(queue, row, 0, config_.num_envs);
  all.step = start.step, all.group_size = start.group_size;
  all.random_start_ages = config_.random_start_ages && start.group_size == 0;
  run(loops_.reset, all);
}

void TaskEnvs::step(Queue& queue, LifetimeStep step, int64_t begin, int64_t count, const StepRow& row) {
  LoopCall range = call(queue, row, begin, begin + count);
  range.step = step;
  run(loops_.step, range);
  if (!queue.on_gpu()) run(loops_.reset_ended, range);
}

void TaskEnvs::step_only(LifetimeStep step, const StepRow& row) {
  DRL_CHECK(!queue_.on_gpu(), "a GPU resets environments in the loop that steps them");
  LoopCall all = call(queue_, row, 0, config_.num_envs);
  all.step = step;
  run(loops_.step, all);
}

void TaskEnvs::reset_ended(LifetimeStep step, const StepRow& row) {
  LoopCall all = call(queue_, row, 0, config_.num_envs);
  all.step = step;
  run(loops_.reset_ended, all);
}

void TaskEnvs::draw(int64_t env, const CanvasCalls& canvas) {
  DRL_CHECK(!queue_.on_gpu() && env >= 0 && env < config_.num_envs, "no such environment on the host");
  require_draw(record_);
  const StepRow none{};
  const LoopCall one = call(queue_, none, env, env + 1);
  char error[256] = "";
  if (record_.draw(&one, &canvas, error, sizeof(error)) != 0) fail(error);
}

void TaskEnvs::set_params(const std::vector<std::byte>& params) {
  DRL_CHECK(params.size() == config_.setup.params.size(), "parameters of another task");
  config_.setup.params = params;
}

void TaskEnvs::take_episode_sums(Queue& queue, double* out, double* scratch) {
  const auto columns = static_cast<int64_t>(episode_columns(spec_));
  sum_columns(queue, sum_rows(), columns, scratch, LoadEpisodes{sums_.data(), columns}, StoreTo{out});
  queue.clear(sums_.data(), sums_.size());
}

void TaskEnvs::iteration_ended(Queue& queue, int64_t iteration, int64_t steps, const EpisodeSums& episodes,
                               std::vector<float>& curriculum) {
  if (!record_.update_curriculum) return;
  const auto mean = [&](double sum) { return episodes.count > 0 ? sum / episodes.count : 0; };
  const auto means = [&](std::vector<double> sums) {
    for (double& x : sums) x = mean(x);
    return sums;
  };
  const std::vector<double> terms = means(episodes.terms), metrics = means(episodes.metrics),
                            ends = means(episodes.ends);
  const TrainingStats stats{iteration,    steps,          episodes.count, mean(episodes.reward), mean(episodes.length),
                            terms.data(), metrics.data(), ends.data()};
  curriculum.resize(curriculum_.size());
  queue.copy(curriculum.data(), curriculum_.data(), curriculum.size());
  queue.synchronize();
  record_.update_curriculum(curriculum.data(), &stats);
  queue.copy(curriculum_.data(), curriculum.data(), curriculum.size());
  queue.synchronize();
}

void TaskEnvs::visit_shared_state(StateVisitor& visitor) {
  for (size_t k = 0; k < curriculum_.size(); ++k)
    visitor.array("curriculum/" + spec_.curriculum[k], curriculum_.data() + k, {1}, Sharding::replicated, &queue_);
}

void TaskEnvs::visit_state(StateVisitor& visitor) {
  const auto per_env = [&](const std::string& name, auto* data) {
    visitor.array("env/" + name, data, {config_.num_envs}, Sharding::per_env, &queue_);
  };
  size_t column = 0;
  for (int f = 0; f < record_.field_count; ++f) {
    const TaskField& field = record_.fields[f];
    for (int k = 0; k < field.count; ++k, ++column) {
      std::string name = std::string("state/") + field.name;
      if (field.count > 1) name.append("/").append(std::to_string(k));
      if (field.is_int) {
        per_env(name, static_cast<int32_t*>(columns_[column]));
      } else {
        per_env(name, static_cast<float*>(columns_[column]));
      }
    }
  }
  if (simulator_) simulator_->visit_state(visitor);
  for (size_t k = 0; k * size() < motor_memory_.size(); ++k)
    per_env("motors/" + std::to_string(k), motor_memory_.data() + k * size());
  for (int k = 0; column < columns_.size(); ++k, ++column)
    per_env("history/" + std::to_string(k), static_cast<float*>(columns_[column]));
  per_env("age", age_.data());
  per_env("episode_reward", episode_reward_.data());
  for (size_t t = 0; t < terms_.size(); ++t) {
    const size_t terms = spec_.reward_terms.size();
    per_env(t < terms ? "reward_terms/" + spec_.reward_terms[t] : "metrics/" + spec_.metrics[t - terms],
            terms_[t].data());
  }
  per_env("stale", counted_episodes_.data());
}

}  // namespace drl

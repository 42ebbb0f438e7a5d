#include "envs/task_params.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/check.hpp"
#include "base/text.hpp"
#include "envs/motor_network.hpp"
#include "envs/task_envs.hpp"

namespace drl {
namespace {

template <class T>
T read(const void* bytes, int32_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(bytes) + offset, sizeof(value));
  return value;
}
template <class T, class Value>
void write(std::vector<std::byte>& bytes, int32_t offset, Value given) {
  const T value = static_cast<T>(given);
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

// The last bytes of a robot's options, after three texts that end with 0: the model's file name, the ranges of its
// numbers, and the file of the network of its motors.
struct RobotBytes {
  double dt;
  int32_t frame_skip, model_per_episode;
  int32_t in_lanes, randomised;  // 0 or 1: whether the record is RobotRecord::in_lanes, or RobotRecord::randomised
  int32_t on_cores, unused;      // 0 or 1: whether the host steps the robot for a learner on a GPU
};
RobotBytes robot_bytes(const std::vector<std::byte>& bytes) {
  return read<RobotBytes>(bytes.data(), static_cast<int32_t>(bytes.size() - sizeof(RobotBytes)));
}

int32_t weight_count(const TaskRecord& record) { return record.reward_weights ? record.reward_term_count : 0; }

// Returns the double with the shortest decimal form of the float: 0.1, not 0.10000000149.
double as_written(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof(text), value).ptr;
  double number = 0;
  std::from_chars(text, end, number);
  return number;
}

// Returns the value of an option with this name.
int32_t index_of(const TaskParam& param, const std::string& name) {
  const auto names = std::span(param.choices, static_cast<size_t>(param.choice_count));
  return static_cast<int32_t>(std::ranges::find(names, name) - names.begin());
}

std::string or_none(const std::string& path) { return path.empty() ? "none" : path; }

// Returns the absolute path of a file, "" for "none" and "". Throws UsageError if it is too long.
FileName file_name(const TaskParam& param, const std::string& text) {
  FileName name;
  const std::string path =
      text.empty() || text == "none" ? "" : std::filesystem::absolute(text).lexically_normal().string();
  if (path.size() >= sizeof(name.path))
    throw UsageError("--env." + std::string(param.name) + " " + printable(path) + " has " +
                     std::to_string(path.size()) + " bytes (a path may have " + std::to_string(sizeof(name.path) - 1) +
                     "): move the file");
  path.copy(name.path, path.size());
  return name;
}

// Returns where the delays begin, after Params and weights.
size_t delays_at(const TaskRecord& record) {
  return static_cast<size_t>(record.params_size) + static_cast<size_t>(weight_count(record)) * sizeof(double);
}
// Returns where the groups of observations begin.
size_t groups_at(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  const auto plan = read<DelayPlan>(bytes.data(), static_cast<int32_t>(delays_at(record)));
  return delays_at(record) + sizeof(DelayPlan) + static_cast<size_t>(plan.error_bounds) * sizeof(float);
}
// Returns where the bounds of the model's numbers begin, and where they end: then all bytes of a task that is no robot
// have passed.
size_t bounds_at(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  const size_t at = groups_at(record, bytes);
  const auto plan = read<GroupPlan>(bytes.data(), static_cast<int32_t>(at));
  return at + sizeof(GroupPlan) + static_cast<size_t>(plan.hidden_count) * sizeof(int32_t);
}
size_t size_of(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return bounds_at(record, bytes) + 2 * static_cast<size_t>(record.model_numbers) * sizeof(float);
}
std::vector<float> floats_at(const std::vector<std::byte>& bytes, size_t at, size_t count) {
  std::vector<float> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), bytes.data() + at, count * sizeof(float));
  return numbers;
}

// Returns the network whose file follows the text of the ranges, or null.
const MotorNetwork* network_of(const char* ranges) {
  const char* file = ranges + std::strlen(ranges) + 1;
  return *file ? &motor_network(file) : nullptr;
}

bool is_robot(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return bytes.size() > size_of(record, bytes);
}

}  // namespace

TaskParams::TaskParams(const TaskRecord& record) : record_(record) {
  if (record.robot) model_ = record.robot->own.model, frame_skip_ = record.robot->own.frame_skip;
  if (record.reward_weights) weights_.assign(record.reward_weights, record.reward_weights + record.reward_term_count);
  for (int k = 0; k < record.param_count; ++k) {
    const TaskParam& param = record.params[k];
    const void* from = record.default_params;
    switch (param.kind) {
      case TaskParamKind::f32:
        values_.emplace_back(as_written(read<float>(from, param.offset)));
        break;
      case TaskParamKind::f64:
        values_.emplace_back(read<double>(from, param.offset));
        break;
      case TaskParamKind::i32:
        if (param.choice_count > 0)
          values_.emplace_back(std::string(param.choices[read<int32_t>(from, param.offset)]));
        else
          values_.emplace_back(int{read<int32_t>(from, param.offset)});
        break;
      case TaskParamKind::boolean:
        values_.emplace_back(read<bool>(from, param.offset));
        break;
      case TaskParamKind::file:
        values_.emplace_back(or_none(read<FileName>(from, param.offset).path));
        break;
    }
  }
}

void TaskParams::describe(OptionVisitor& v) {
  for (int k = 0; k < record_.param_count; ++k) {
    const TaskParam& p = record_.params[k];
    auto& value = values_[static_cast<size_t>(k)];
    const Range range{p.low, p.high, p.low_is_out != 0, p.high_is_out != 0};
    if (bool* flag = std::get_if<bool>(&value)) v(p.name, *flag, p.help);
    if (int* number = std::get_if<int>(&value)) v(p.name, *number, p.help, range, unit(p.unit));
    if (double* number = std::get_if<double>(&value)) v(p.name, *number, p.help, range, unit(p.unit));
    if (std::string* text = std::get_if<std::string>(&value)) {
      if (p.kind == TaskParamKind::file)
        v(p.name, *text, p.help, as_path);
      else
        v(p.name, *text, p.help, one_of({p.choices, p.choices + p.choice_count}));
    }
  }
  delays_.describe(v);
  groups_.describe(v);
  if (!record_.robot) return;
  v("frame_skip", frame_skip_, "physics time steps per environment step", at_least(1));
  v("xml_file", model_, "the robot's model: a file, or the name of a file in a directory of $DRL_MODELS", as_path);
  v("physics", physics_, "physics engine: lanes (the compiled model), mujoco (libmujoco), auto (lanes if possible)",
    one_of({"auto", "lanes", "mujoco"}), added_later("mujoco"));
  v("device", device_,
    "where a GPU rank steps the compiled robot: auto (on its GPU if possible), or cpu (on its cores, in two halves: "
    "the GPU chooses the actions of one while the cores step the other)",
    one_of({"auto", "cpu"}), added_later("auto"));
  model_numbers_.describe(v);
}

const TaskParams::Inspection& TaskParams::inspection() const {
  const std::string ranges = model_numbers_.ranges();
  if (inspection_ && inspection_->model == model_ && inspection_->frame_skip == frame_skip_ &&
      inspection_->ranges == ranges && inspection_->network == model_numbers_.network())
    return *inspection_;
  Inspection inspected{.model = model_,
                       .frame_skip = frame_skip_,
                       .ranges = ranges,
                       .network = model_numbers_.network(),
                       .facts = {},
                       .why_not_lanes = ""};
  const RobotChoice choice = this->choice(ranges);
  char error[8192] = "";
  const int32_t code = record_.robot->inspect(&choice, &inspected.facts, error, sizeof(error));
  if (code == 2) throw UsageError(printable(error, sizeof(error)));  // it may contain names of the model
  inspected.why_not_lanes = error, inspected.is_mistaken = code == 3;
  if (code == 0 && !record_in_lanes())
    inspected.why_not_lanes =
        "its library was built with constant masses and gains: see RANDOMISED in docs/randomisation.md";
  return inspection_.emplace(std::move(inspected));
}

RobotChoice TaskParams::choice(const std::string& ranges) const {
  const std::string network = model_numbers_.network();
  return {model_.c_str(), frame_skip_, ranges.c_str(), model_numbers_.per_episode() ? 1 : 0,
          network.empty() ? nullptr : &motor_network(network)};
}

std::string TaskParams::check_lanes() const {
  const std::string& why = inspection().why_not_lanes;
  if (inspection().is_mistaken && physics_ == "auto")
    throw UsageError(
        why +
        " (a policy trained with this file would not fit the library's robot): build the library again, or "
        "start another run that simulates this file with libmujoco (--env.physics mujoco)");
  if (!why.empty() && physics_ == "lanes")
    throw UsageError(std::string("--env.physics lanes: ") + record_.name + " cannot be simulated in lanes (" + why +
                     "): use mujoco or auto");
  return why;
}

void TaskParams::choose_physics() {
  for (int k = 0; k < record_.param_count; ++k)
    if (std::string* text = std::get_if<std::string>(&values_[static_cast<size_t>(k)]))
      if (record_.params[k].kind == TaskParamKind::file) *text = or_none(file_name(record_.params[k], *text).path);
  if (!record_.robot) return;
  model_numbers_.make_absolute();
  std::error_code ignored;
  if (model_ != record_.robot->own.model && std::filesystem::exists(model_, ignored))
    model_ = std::filesystem::absolute(model_).lexically_normal().string();
  inspection();
  if (physics_ == "mujoco") return;
  why_not_in_lanes_ = check_lanes();
  physics_ = why_not_in_lanes_.empty() ? "lanes" : "mujoco";
}

std::vector<OptionFile> TaskParams::files() const {
  std::vector<OptionFile> files;
  for (int k = 0; k < record_.param_count; ++k) {
    const TaskParam& param = record_.params[k];
    if (param.kind != TaskParamKind::file) continue;
    const std::string path = file_name(param, std::get<std::string>(values_[static_cast<size_t>(k)])).path;
    if (!path.empty()) files.push_back({"env." + std::string(param.name), path});
  }
  if (record_.robot && !model_numbers_.network().empty())
    files.push_back({"env.dr.motor_network", model_numbers_.network()});
  return files;
}

std::string TaskParams::physics() const { return !record_.robot ? "" : physics_ == "lanes" ? "lanes" : "libmujoco"; }

const TaskRecord& TaskParams::record_of(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  if (!record.robot) return record;
  const RobotBytes robot = robot_bytes(bytes);
  return robot.randomised ? *record.robot->randomised : robot.in_lanes ? *record.robot->in_lanes : record;
}

bool TaskParams::fits(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  if (bytes.size() < delays_at(record) + sizeof(DelayPlan) + sizeof(GroupPlan)) return false;
  if (!is_robot(record, bytes)) return bytes.size() == size_of(record, bytes);
  return bytes.size() > size_of(record, bytes) + sizeof(RobotBytes) &&
         (robot_bytes(bytes).in_lanes != 0) == (record.simulator == nullptr);
}

double TaskParams::dt(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return is_robot(record, bytes) ? robot_bytes(bytes).dt : record.dt;
}

std::optional<RobotChoice> TaskParams::robot_choice(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  if (!record.robot || !is_robot(record, bytes)) return std::nullopt;
  const RobotBytes robot = robot_bytes(bytes);
  const char* model = reinterpret_cast<const char*>(bytes.data() + size_of(record, bytes));
  const char* ranges = model + std::strlen(model) + 1;
  return RobotChoice{model, robot.frame_skip, ranges, robot.model_per_episode, network_of(ranges)};
}

const MotorNetwork* TaskParams::network(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  if (record.motors == 0 || !is_robot(record, bytes)) return nullptr;
  const char* model = reinterpret_cast<const char*>(bytes.data() + size_of(record, bytes));
  return network_of(model + std::strlen(model) + 1);
}

bool TaskParams::on_cores(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return is_robot(record, bytes) && robot_bytes(bytes).on_cores != 0;
}

DelayPlan TaskParams::delays(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return read<DelayPlan>(bytes.data(), static_cast<int32_t>(delays_at(record)));
}

GroupPlan TaskParams::groups(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return read<GroupPlan>(bytes.data(), static_cast<int32_t>(groups_at(record, bytes)));
}

std::vector<int32_t> TaskParams::hidden_numbers(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  std::vector<int32_t> numbers(static_cast<size_t>(groups(record, bytes).hidden_count));
  if (!numbers.empty())
    std::memcpy(numbers.data(), bytes.data() + groups_at(record, bytes) + sizeof(GroupPlan),
                numbers.size() * sizeof(int32_t));
  return numbers;
}

void TaskParams::set_critic(const TaskRecord& record, ObservationGroup critic, std::vector<std::byte>& bytes) {
  GroupPlan plan = groups(record, bytes);
  plan.has_other_critic = 1, plan.critic = critic;
  write<GroupPlan>(bytes, static_cast<int32_t>(groups_at(record, bytes)), plan);
}

std::vector<float> TaskParams::model_bounds(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return floats_at(bytes, bounds_at(record, bytes), 2 * static_cast<size_t>(record.model_numbers));
}

std::vector<float> TaskParams::error_bounds(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return floats_at(bytes, delays_at(record) + sizeof(DelayPlan),
                   static_cast<size_t>(delays(record, bytes).error_bounds));
}

bool TaskParams::model_per_episode(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return record.model_numbers > 0 && robot_bytes(bytes).model_per_episode != 0;
}

void TaskParams::Rewards::describe(OptionVisitor& v) {
  const TaskRecord& record = params.record_;
  for (size_t t = 0; t < params.weights_.size(); ++t)
    v(record.reward_terms[t], params.weights_[t],
      record.scale_rewards_by_dt ? "weight of this reward term, per second" : "weight of this reward term",
      any_number());
}

std::vector<float> TaskParams::scaled_weights(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  std::vector<float> weights;
  for (int t = 0; t < weight_count(record); ++t) {
    const auto weight = read<double>(bytes.data() + record.params_size, t * static_cast<int32_t>(sizeof(double)));
    weights.push_back(static_cast<float>(record.scale_rewards_by_dt ? weight * dt(record, bytes) : weight));
  }
  return weights;
}

std::vector<std::byte> TaskParams::bytes() const {
  const bool in_lanes = is_in_lanes();
  const TaskRecord& record = in_lanes ? *record_in_lanes() : record_;
  const auto* defaults = static_cast<const std::byte*>(record.default_params);
  std::vector<std::byte> bytes(defaults, defaults + record.params_size);
  for (int k = 0; k < record.param_count; ++k) {
    const TaskParam& param = record.params[k];
    const auto& value = values_[static_cast<size_t>(k)];
    if (const bool* flag = std::get_if<bool>(&value)) write<bool>(bytes, param.offset, *flag);
    if (const int* number = std::get_if<int>(&value)) write<int32_t>(bytes, param.offset, *number);
    if (const std::string* text = std::get_if<std::string>(&value)) {
      if (param.kind == TaskParamKind::file)
        write<FileName>(bytes, param.offset, file_name(param, *text));
      else
        write<int32_t>(bytes, param.offset, index_of(param, *text));
    }
    if (const double* number = std::get_if<double>(&value)) {
      if (param.kind == TaskParamKind::f32) {
        write<float>(bytes, param.offset, *number);
      } else {
        write<double>(bytes, param.offset, *number);
      }
    }
  }
  const auto append = [&](const void* from, size_t size) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + size);
  };
  append(weights_.data(), weights_.size() * sizeof(double));
  DelayPlan delays = delays_.plan(record_.step_limit);
  std::vector<NamedNumber> observations = spec_of(record_).observations;
  if (record.obs_dim_with && record.obs_dim_with(bytes.data()) != static_cast<int>(observations.size()))
    observations.clear();  // the names are those of the default options
  const std::vector<float> errors = delays_.error_bounds(observations);
  delays.error_bounds = static_cast<int32_t>(errors.size());
  append(&delays, sizeof(delays));
  append(errors.data(), errors.size() * sizeof(float));
  TaskSpec spec = spec_of(record_);
  spec.observations = observations;
  const std::vector<int32_t> hidden = groups_.hidden_numbers(spec);
  // A critic without observations of its own sees all of the policy's, also those that are hidden from the actor.
  const bool critic_sees_all = !hidden.empty() && record.critic_obs_dim == 0;
  const GroupPlan groups{.actor = groups_.actor_group(),
                         .has_other_critic = critic_sees_all ? 1 : 0,
                         .critic = critic_sees_all ? ObservationGroup::policy : ObservationGroup::critic,
                         .hidden_count = static_cast<int32_t>(hidden.size())};
  append(&groups, sizeof(groups));
  append(hidden.data(), hidden.size() * sizeof(int32_t));
  if (!record_.robot) return bytes;
  const std::string ranges = model_numbers_.ranges();
  const bool is_randomised = in_lanes && !ranges.empty();
  if (is_randomised) {
    std::vector<float> bounds(2 * static_cast<size_t>(record.model_numbers));
    const RobotChoice choice = this->choice(ranges);
    char error[8192] = "";
    if (record_.robot->bounds(&choice, bounds.data(), static_cast<int64_t>(bounds.size()), error, sizeof(error)) != 0)
      throw UsageError(printable(error, sizeof(error)));
    append(bounds.data(), bounds.size() * sizeof(float));
  }
  append(model_.c_str(), model_.size() + 1);
  append(ranges.c_str(), ranges.size() + 1);
  const std::string network = model_numbers_.network();
  append(network.c_str(), network.size() + 1);
  const RobotBytes robot{.dt = inspection().facts.dt,
                         .frame_skip = frame_skip_,
                         .model_per_episode = model_numbers_.per_episode() ? 1 : 0,
                         .in_lanes = in_lanes,
                         .randomised = is_randomised,
                         .on_cores = device_ == "cpu",
                         .unused = 0};
  append(&robot, sizeof(robot));
  return bytes;
}

}  // namespace drl

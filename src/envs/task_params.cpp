#include "envs/task_params.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/check.hpp"
#include "base/text.hpp"
#include "envs/motor_network.hpp"
#include "envs/schedule.hpp"
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

// Returns the double with the shortest decimal form of the float: 0.1, not 0.10000000149.
double as_written(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof(text), value).ptr;
  double number = 0;
  std::from_chars(text, end, number);
  return number;
}

Range range_of(const TaskParam& p) { return {p.low, p.high, p.low_is_out != 0, p.high_is_out != 0}; }

bool names_file(const TaskParam& param) {
  return param.kind == TaskParamKind::file || param.kind == TaskParamKind::schedule;
}

// Writes a list of numbers, and then how many there are or, for `numbers`, whether they are given.
void write_list(std::vector<std::byte>& bytes, int32_t offset, const std::vector<float>& numbers, int64_t room,
                int32_t last) {
  for (const float number : numbers) write<float>(bytes, offset, number), offset += 4, --room;
  write<int32_t>(bytes, offset + static_cast<int32_t>(4 * room), last);
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

// Writes the content of a file, "" for none.
void write_schedule(std::vector<std::byte>& bytes, const TaskParam& param, const std::string& path) {
  std::vector<float> numbers;
  if (!path.empty())
    for (const std::vector<float>& row : read_schedule("env." + std::string(param.name), path,
                                                       {param.number_count - 1, param.most_rows, range_of(param)}))
      numbers.insert(numbers.end(), row.begin(), row.end());
  const int64_t rows = static_cast<int64_t>(numbers.size()) / param.number_count;
  write_list(bytes, param.offset, numbers, int64_t{param.most_rows} * param.number_count, static_cast<int32_t>(rows));
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
      case TaskParamKind::schedule:
        values_.emplace_back(or_none(""));
        break;
      case TaskParamKind::numbers: {
        std::vector<double>& list = values_.emplace_back().emplace<std::vector<double>>();
        const int32_t end = param.offset + 4 * param.number_count;
        if (read<int32_t>(from, end) != 0)
          for (int32_t at = param.offset; at < end; at += 4) list.push_back(as_written(read<float>(from, at)));
        break;
      }
    }
  }
}

void TaskParams::describe(OptionVisitor& v) {
  for (int k = 0; k < record_.param_count; ++k) {
    const TaskParam& p = record_.params[k];
    auto& value = values_[static_cast<size_t>(k)];
    const Range range = range_of(p);
    const ChangesEnvState state{p.changes_env_state != 0};
    // A task's own option that declares no condition always has an effect.
    const std::vector<Condition> conditions(p.conditions, p.conditions + p.condition_count);
    const auto add = [&](auto& to, const auto&... attributes) {
      conditions.empty() ? v(p.name, to, p.help, attributes..., state, always)
                         : v(p.name, to, p.help, attributes..., state, conditions);
    };
    if (bool* flag = std::get_if<bool>(&value)) add(*flag);
    if (int* number = std::get_if<int>(&value)) add(*number, range, unit(p.unit));
    if (double* number = std::get_if<double>(&value)) add(*number, range, unit(p.unit));
    if (std::vector<double>* list = std::get_if<std::vector<double>>(&value))
      add(*list, range, unit(p.unit), ListLength{p.number_count, p.is_interval != 0});
    if (std::string* text = std::get_if<std::string>(&value)) {
      if (names_file(p))
        add(*text, as_path);
      else
        add(*text, one_of({p.choices, p.choices + p.choice_count}));
    }
  }
  std::apply([&](auto&... wrapper) { (wrapper.describe(v), ...); }, wrappers_);
  if (!record_.robot) return;
  v("frame_skip", frame_skip_, "physics time steps per environment step", at_least(1), always);
  v("xml_file", model_, "the robot's model: a file, or the name of a file in a directory of $DRL_MODELS", as_path,
    changes_env_state, always);
  v("physics", physics_, "physics engine: lanes (the compiled model), mujoco (libmujoco), auto (lanes if possible)",
    one_of({"auto", "lanes", "mujoco"}), added_later("mujoco"), changes_env_state, always);
  v("device", device_,
    "where a GPU rank steps the compiled robot: auto (on its GPU if possible), or cpu (on its cores, in two halves: "
    "the GPU chooses the actions of one while the cores step the other)",
    one_of({"auto", "cpu"}), added_later("auto"), only_with("hardware", "gpu"), not_with("physics", "mujoco"));
  model_numbers_.describe(v);
}

const TaskParams::Inspection& TaskParams::inspection() const {
  Inspection inspected{.robot = robot(), .facts = {}, .why_not_lanes = ""};
  if (inspection_ && inspection_->robot == inspected.robot) return *inspection_;
  const RobotChoice choice = inspected.robot.choice();
  char error[8192] = "";
  const int32_t code = record_.robot->inspect(&choice, &inspected.facts, error, sizeof(error));
  if (code == 2) throw UsageError(printable(error, sizeof(error)));  // it may contain names of the model
  inspected.why_not_lanes = error, inspected.is_mistaken = code == 3;
  return inspection_.emplace(std::move(inspected));
}

RobotSetup TaskParams::robot() const {
  const std::string network = model_numbers_.network();
  return {.model = model_,
          .frame_skip = frame_skip_,
          .ranges = model_numbers_.ranges(),
          .model_per_episode = model_numbers_.per_episode(),
          .network = network.empty() ? nullptr : &motor_network(network),
          .on_cores = device_ == "cpu"};
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
      if (names_file(record_.params[k])) *text = or_none(file_name(record_.params[k], *text).path);
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
    if (!names_file(param)) continue;
    const std::string path = file_name(param, std::get<std::string>(values_[static_cast<size_t>(k)])).path;
    if (!path.empty()) files.push_back({"env." + std::string(param.name), path});
  }
  if (record_.robot && !model_numbers_.network().empty())
    files.push_back({"env.dr.motor_network", model_numbers_.network()});
  return files;
}

bool TaskParams::is_param(const std::string& name) const {
  return std::ranges::any_of(std::span(record_.params, static_cast<size_t>(record_.param_count)),
                             [&](const TaskParam& param) { return name == "env." + std::string(param.name); });
}

std::vector<Circumstance> TaskParams::circumstances() const {
  return {{"randomised", model_numbers_.any() ? "yes" : "no", "no --env.dr option gives a range"}};
}

std::string TaskParams::physics() const { return !record_.robot ? "" : physics_ == "lanes" ? "lanes" : "libmujoco"; }

void TaskParams::Rewards::describe(OptionVisitor& v) {
  const TaskRecord& record = params.record_;
  for (size_t t = 0; t < params.weights_.size(); ++t)
    v(record.reward_terms[t], params.weights_[t],
      record.scale_rewards_by_dt ? "weight of this reward term, per second" : "weight of this reward term",
      any_number(), always);
}

std::vector<float> TaskParams::weights(double dt) const {
  std::vector<float> weights;
  for (const double weight : weights_)
    weights.push_back(static_cast<float>(record_.scale_rewards_by_dt ? weight * dt : weight));
  return weights;
}

std::vector<float> TaskParams::model_bounds(const TaskRecord& record, const RobotSetup& robot) const {
  std::vector<float> bounds(2 * static_cast<size_t>(record.model_numbers));
  if (bounds.empty()) return bounds;
  const RobotChoice choice = robot.choice();
  char error[8192] = "";
  if (record_.robot->bounds(&choice, bounds.data(), static_cast<int64_t>(bounds.size()), error, sizeof(error)) != 0)
    throw UsageError(printable(error, sizeof(error)));
  return bounds;
}

std::vector<std::byte> TaskParams::params(const TaskRecord& record) const {
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
      else if (param.kind == TaskParamKind::schedule)
        write_schedule(bytes, param, file_name(param, *text).path);
      else
        write<int32_t>(bytes, param.offset, index_of(param, *text));
    }
    if (const std::vector<double>* list = std::get_if<std::vector<double>>(&value))
      write_list(bytes, param.offset, {list->begin(), list->end()}, param.number_count, list->empty() ? 0 : 1);
    if (const double* number = std::get_if<double>(&value)) {
      if (param.kind == TaskParamKind::f32) {
        write<float>(bytes, param.offset, *number);
      } else {
        write<double>(bytes, param.offset, *number);
      }
    }
  }
  return bytes;
}

EnvSetup TaskParams::setup() const {
  EnvSetup setup{.record = is_in_lanes() ? record_in_lanes() : &record_};
  setup.params = params(*setup.record);
  setup.wrappers = plans_of(wrappers_, spec_of(*setup.record, setup));
  if (record_.robot) {
    setup.robot = robot();
    setup.robot->dt = inspection().facts.dt;
    setup.robot->model_bounds = model_bounds(*setup.record, *setup.robot);
  }
  setup.weights = weights(setup.robot ? setup.robot->dt : record_.dt);
  return setup;
}

}  // namespace drl

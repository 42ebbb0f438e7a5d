#include "envs/task_params.hpp"

#include <charconv>
#include <cstring>

#include "base/check.hpp"

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

int32_t weight_count(const TaskRecord& record) { return record.reward_weights ? record.reward_term_count : 0; }

// The number that one would write for it: 0.1, not 0.10000000149.
double as_written(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof(text), value).ptr;
  double number = 0;
  std::from_chars(text, end, number);
  return number;
}

}  // namespace

TaskParams::TaskParams(const TaskRecord& record) : record_(record) {
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
        values_.emplace_back(int{read<int32_t>(from, param.offset)});
        break;
      case TaskParamKind::boolean:
        values_.emplace_back(read<bool>(from, param.offset));
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
  }
  if (record_.robot)
    v("physics", physics_,
      "what computes the robot: lanes (its compiled model), mujoco (libmujoco), auto (lanes if it can)",
      one_of({"auto", "lanes", "mujoco"}), later("mujoco", ""));
}

std::string TaskParams::lanes_trouble() const {
  char error[1024] = "";
  const int32_t code = record_.robot->check(error, sizeof(error));
  if (code == 2) throw UsageError(error);
  if (code != 0 && physics_ == "lanes")
    throw UsageError(std::string("--env.physics lanes: ") + record_.name + " cannot be computed in lanes (" + error +
                     "): take mujoco, or auto");
  return error;
}

void TaskParams::choose_physics() {
  if (!record_.robot || physics_ == "mujoco") return;
  why_not_ = lanes_trouble();
  physics_ = why_not_.empty() ? "lanes" : "mujoco";
}

std::string TaskParams::physics() const { return !record_.robot ? "" : physics_ == "lanes" ? "lanes" : "libmujoco"; }

const TaskRecord& TaskParams::record_of(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  return record.robot && bytes.back() != std::byte{0} ? *record.robot->task : record;
}

void TaskParams::Rewards::describe(OptionVisitor& v) {
  const TaskRecord& record = params.record_;
  for (size_t t = 0; t < params.weights_.size(); ++t)
    v(record.reward_terms[t], params.weights_[t],
      record.scale_rewards_by_dt ? "weight of this term of the reward, per second"
                                 : "weight of this term of the reward",
      any_number());
}

size_t TaskParams::size(const TaskRecord& record) {
  return static_cast<size_t>(record.params_size) + static_cast<size_t>(weight_count(record)) * sizeof(double);
}

std::vector<float> TaskParams::scaled_weights(const TaskRecord& record, const std::vector<std::byte>& bytes) {
  std::vector<float> weights;
  for (int t = 0; t < weight_count(record); ++t) {
    const auto weight = read<double>(bytes.data() + record.params_size, t * static_cast<int32_t>(sizeof(double)));
    weights.push_back(static_cast<float>(record.scale_rewards_by_dt ? weight * record.dt : weight));
  }
  return weights;
}

std::vector<std::byte> TaskParams::bytes() const {
  const bool in_lanes = is_in_lanes();
  const TaskRecord& record = in_lanes ? *record_.robot->task : record_;
  const auto* defaults = static_cast<const std::byte*>(record.default_params);
  std::vector<std::byte> bytes(defaults, defaults + record.params_size);
  for (int k = 0; k < record.param_count; ++k) {
    const TaskParam& param = record.params[k];
    const auto& value = values_[static_cast<size_t>(k)];
    if (const bool* flag = std::get_if<bool>(&value)) write<bool>(bytes, param.offset, *flag);
    if (const int* number = std::get_if<int>(&value)) write<int32_t>(bytes, param.offset, *number);
    if (const double* number = std::get_if<double>(&value)) {
      if (param.kind == TaskParamKind::f32) {
        write<float>(bytes, param.offset, *number);
      } else {
        write<double>(bytes, param.offset, *number);
      }
    }
  }
  const auto* weights = reinterpret_cast<const std::byte*>(weights_.data());
  bytes.insert(bytes.end(), weights, weights + weights_.size() * sizeof(double));
  if (record_.robot) bytes.push_back(std::byte{in_lanes});
  return bytes;
}

}  // namespace drl

#include "envs/simulator.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace drl {
namespace {

DType dtype_of(SimulatorType type) {
  switch (type) {
    case SimulatorType::f32:
      return DType::f32;
    case SimulatorType::f64:
      return DType::f64;
    case SimulatorType::i32:
      return DType::i32;
    case SimulatorType::i64:
      return DType::i64;
    case SimulatorType::u8:
      return DType::u8;
  }
  throw UsageError("a simulator's state has an unknown type (its library was built for another drl): rebuild it");
}

}  // namespace

Simulator::Simulator(const TaskRecord& record, const SimulatorConfig& config, const void* params)
    : record_(record), num_envs_(config.num_envs) {
  char error[1024] = "";
  const int32_t code = record.simulator->create(&config, params, &handle_, error, sizeof(error));
  if (code == 2) throw UsageError(error);
  if (code != 0)
    throw Error(std::string("the simulator of task ") + record.name + " cannot be created (" + error +
                "): the text in parentheses comes from the simulator");
  try {
    list_state();
  } catch (...) {
    record.simulator->destroy(handle_);
    throw;
  }
}

void Simulator::list_state() {
  const auto add = [](void* arrays, const SimulatorArray* array) {
    static_cast<std::vector<SimulatorArray>*>(arrays)->push_back(*array);
  };
  std::vector<SimulatorArray> arrays;
  char error[256] = "";
  if (record_.simulator->state(handle_, add, &arrays, error, sizeof(error)) != 0)
    throw Error(std::string("the simulator of task ") + record_.name + " cannot list its state (" + error +
                "): the text in parentheses comes from the simulator");
  for (const SimulatorArray& array : arrays) {
    const std::string name = std::string("env/state/") + array.name;
    const auto wrong = [&](const std::string& why) {
      throw UsageError("the state '" + std::string(array.name) + "' of task " + record_.name + " cannot be saved (" +
                       why + "): see visit_state in drl/simulator.hpp");
    };
    std::vector<int64_t> shape{num_envs_};
    if (array.columns > 1) shape.push_back(array.columns);
    if (array.data == nullptr || array.columns < 1) wrong("it is empty; the constructor must size it");
    if (std::ranges::find(fields_, name, &StateField::name) != fields_.end()) wrong("two arrays have this name");
    fields_.push_back({name, dtype_of(array.type), shape, array.data, Sharding::per_env});
  }
}

void Simulator::visit_state(StateVisitor& visitor) const {
  for (const StateField& field : fields_) visitor.field(field);
}

}  // namespace drl

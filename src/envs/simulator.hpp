#pragma once

#include <string>
#include <vector>

#include "device/state.hpp"
#include "drl/task_abi.hpp"

namespace drl {

// The object behind a record that has a simulator: its life and its state.
class Simulator {
 public:
  // Throws Error, with the text of the library's exception, if that cannot make it, and UsageError if the user can
  // correct that, or if it lists its state in a way that no checkpoint can hold.
  Simulator(const TaskRecord& record, const SimulatorConfig& config, const void* params);
  ~Simulator() { record_.simulator->destroy(handle_); }
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  void* handle() const { return handle_; }
  void visit_state(StateVisitor& visitor) const;
  std::string files() const { return record_.simulator->files(handle_); }

 private:
  void list_state();

  const TaskRecord& record_;
  int64_t num_envs_;
  void* handle_ = nullptr;
  std::vector<StateField> fields_;
};

}  // namespace drl

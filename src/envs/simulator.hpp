#pragma once

#include <string>
#include <vector>

#include "device/state.hpp"
#include "drl/task/abi.hpp"

namespace drl {

// Owns a task library's simulator object, and lists its state.
class Simulator {
 public:
  // Throws Error, with the text of the library's exception, if the library cannot create the simulator. Throws
  // UsageError if the user can correct that, or if the simulator lists a state that checkpoints cannot hold.
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

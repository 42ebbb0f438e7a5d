#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "base/options.hpp"
#include "drl/task_abi.hpp"

namespace drl {

// A task's options: those that its Params::describe names, and the weights of its reward's terms.
class TaskParams {
 public:
  explicit TaskParams(const TaskRecord& record);
  TaskParams(const TaskParams&) = delete;
  TaskParams& operator=(const TaskParams&) = delete;

  // Those of Params, for a section "env", and the weights, for "env.reward".
  void describe(OptionVisitor& v);
  struct Rewards {
    TaskParams& params;
    void describe(OptionVisitor& v);
  };
  Rewards rewards() { return {*this}; }

  // For EnvConfig: Params, and behind them the weights as double.
  std::vector<std::byte> bytes() const;
  static size_t size(const TaskRecord& record);  // of bytes()
  // The weights in such bytes as a step takes them, times dt if they are per second; empty for a task without.
  static std::vector<float> scaled_weights(const TaskRecord& record, const std::vector<std::byte>& bytes);

 private:
  const TaskRecord& record_;
  std::vector<std::variant<bool, int, double>> values_;  // [param_count]
  std::vector<double> weights_;                          // [reward_term_count], or none
};

}  // namespace drl

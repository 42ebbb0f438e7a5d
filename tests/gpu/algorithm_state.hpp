// An algorithm's state, as checkpoints see it.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "device/state.hpp"
#include "algorithms/algorithm.hpp"

namespace drl::test {

// A state's fields by name. copy_from writes one state's numbers into another's fields.
struct State final : StateVisitor {
  explicit State(Algorithm& algorithm) {
    algorithm.state_needed();
    algorithm.visit_state(*this);
  }
  void field(const StateField& field) override { fields[field.name] = field; }
  std::map<std::string, std::vector<std::byte>> bytes() const {
    std::map<std::string, std::vector<std::byte>> all;
    for (const auto& [name, field] : fields) {
      const auto* data = static_cast<const std::byte*>(field.data);
      all[name] = {data, data + field.bytes()};
    }
    return all;
  }
  void copy_from(const State& other) {
    for (auto& [name, field] : fields) std::memcpy(field.data, other.fields.at(name).data, field.bytes());
  }
  std::map<std::string, StateField> fields;
};

}  // namespace drl::test

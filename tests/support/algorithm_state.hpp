// Access to an algorithm's state, as in checkpoints, and to its metrics by name.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "device/state.hpp"

namespace drl::test {

struct AlgorithmState final : StateVisitor {
  explicit AlgorithmState(Algorithm& algorithm) { algorithm.visit_state(*this); }
  void field(const StateField& field) override { fields[field.name] = field; }

  std::map<std::string, std::vector<std::byte>> bytes() const {
    std::map<std::string, std::vector<std::byte>> all;
    for (const auto& [name, field] : fields) all[name] = field.read();
    return all;
  }
  template <class T>
  std::vector<T> numbers(const std::string& name) const {
    const std::vector<std::byte> bytes = fields.at(name).read();
    const T* first = reinterpret_cast<const T*>(bytes.data());
    return {first, first + bytes.size() / sizeof(T)};
  }
  void write(const std::map<std::string, std::vector<std::byte>>& all) const {
    for (const auto& [name, field] : fields) field.write(all.at(name));
  }

  std::map<std::string, StateField> fields;
};

inline double metric(const Algorithm& algorithm, std::string_view name) {
  for (const Metric& metric : algorithm.metrics())
    if (metric.name == name) return metric.value;
  throw std::out_of_range("no metric " + std::string(name));
}

}  // namespace drl::test

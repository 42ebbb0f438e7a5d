// Access to a component's state by name, as in checkpoints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/state.hpp"

namespace drl {

struct AllState final : StateVisitor {
  template <class Component>
  explicit AllState(Component& component) {
    component.visit_state(*this);
  }
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

}  // namespace drl

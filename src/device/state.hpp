// The list of all state. Each component enumerates the arrays that a checkpoint must contain (visit_state). Saving,
// loading, the broadcast at the start, fingerprints and redistribution to another world size all use this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/enum_table.hpp"
#include "device/queue.hpp"

namespace drl {

enum class DType { f32, f64, i32, i64, u8 };

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
}

constexpr size_t size_of(DType type) {
  return type == DType::u8 ? 1 : type == DType::f32 || type == DType::i32 ? 4 : 8;
}
constexpr std::string_view name_of(DType type) {
  using enum DType;
  constexpr auto names = by_enum<DType, std::string_view>(
      u8, {{f32, "float32"}, {f64, "float64"}, {i32, "int32"}, {i64, "int64"}, {u8, "uint8"}});
  return names[static_cast<size_t>(type)];
}

// The distribution of an array over the ranks. A replicated array is equal on all ranks. A per_env array has one row
// per environment: shape[0] is the number of this rank's environments, and rows are ordered by global environment
// index. A replay array has such rows, too, but may be too large for one host, so each rank stores its rows in a file of
// its own (run/replay_files.hpp).
enum class Sharding { replicated, per_env, replay };

// A part of an array that is not contiguous: `count` elements.
struct StatePart {
  void* data;
  int64_t count;
};

// A named array, owned by the component that enumerates it. `shape` is its shape on this rank; a scalar has the shape
// {}.
struct StateField {
  std::string name;  // a path, e.g. "policy/actor/0/weight"
  DType type;
  std::vector<int64_t> shape;
  void* data;
  Sharding sharding = Sharding::replicated;
  Queue* queue = nullptr;             // the array is in this queue's memory; null: host memory
  std::vector<StatePart> parts = {};  // its parts in order; empty: the array is contiguous

  int64_t count() const {
    int64_t n = 1;
    for (int64_t extent : shape) n *= extent;
    return n;
  }
  size_t bytes() const { return static_cast<size_t>(count()) * size_of(type); }
  // Copy the whole array [bytes()] to or from host memory, after waiting for all work that was enqueued before.
  std::vector<std::byte> read() const;
  void write(std::span<const std::byte> numbers) const;
};

using StateList = std::vector<StateField>;

class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void field(const StateField& field) = 0;

  // Visit an array or scalar, which is in `queue`'s memory, or in host memory if `queue` is null.
  template <class T>
  void array(std::string name, T* data, std::vector<int64_t> shape, Sharding sharding = Sharding::replicated,
             Queue* queue = nullptr) {
    field(StateField{std::move(name), dtype_of<T>(), std::move(shape), data, sharding, queue});
  }
  template <class T>
  void scalar(std::string name, T& value, Queue* queue = nullptr) {
    array(std::move(name), &value, {}, Sharding::replicated, queue);
  }
};

// Returns the fields that `visit` enumerates.
StateList list_state(const std::function<void(StateVisitor&)>& visit);

}  // namespace drl

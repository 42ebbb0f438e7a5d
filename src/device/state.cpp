#include "device/state.hpp"

#include <cstring>

namespace drl {
namespace {

// Calls copy(part, its offset in the whole array in bytes, its size in bytes) for each part, with the queue idle before
// and after.
template <class Copy>
void for_each_part(const StateField& field, Copy&& copy) {
  if (field.queue) field.queue->synchronize();
  if (field.parts.empty()) copy(field.data, 0, field.bytes());
  size_t at = 0;
  for (const StatePart& part : field.parts) {
    const size_t bytes = static_cast<size_t>(part.count) * size_of(field.type);
    copy(part.data, at, bytes);
    at += bytes;
  }
  if (field.queue) field.queue->synchronize();
}

void copy_bytes(Queue* queue, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  queue ? queue->copy_bytes(to, from, bytes) : static_cast<void>(std::memcpy(to, from, bytes));
}

class Lister final : public StateVisitor {
 public:
  void field(const StateField& field) override { list.push_back(field); }
  StateList list;
};

}  // namespace

std::vector<std::byte> StateField::read() const {
  std::vector<std::byte> numbers(bytes());
  for_each_part(*this,
                [&](void* part, size_t at, size_t bytes) { copy_bytes(queue, numbers.data() + at, part, bytes); });
  return numbers;
}

void StateField::write(std::span<const std::byte> numbers) const {
  for_each_part(*this,
                [&](void* part, size_t at, size_t bytes) { copy_bytes(queue, part, numbers.data() + at, bytes); });
}

StateList list_state(const std::function<void(StateVisitor&)>& visit) {
  Lister lister;
  visit(lister);
  return lister.list;
}

}  // namespace drl

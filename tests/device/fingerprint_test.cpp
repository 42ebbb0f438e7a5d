#include "device/fingerprint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace drl {
namespace {

// Fields of all kinds in a queue's memory. "pieces" consists of two parts.
struct Fields {
  explicit Fields(Isa isa) : queue(make_host_queue(isa)), scalar(*queue, 1), numbers(*queue, 203), pieces(*queue, 60) {
    scalar[0] = 0.001;
    for (size_t i = 0; i < 203; ++i) numbers[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    for (size_t i = 0; i < 60; ++i) pieces[i] = static_cast<float>(i);
    const auto replicated = Sharding::replicated;
    list = {{"scalar", DType::f64, {}, scalar.data(), replicated, queue.get()},
            {"numbers", DType::f32, {7, 29}, numbers.data(), replicated, queue.get()},
            {"pieces", DType::f32, {37}, nullptr, replicated, queue.get(), {{&pieces[0], 17}, {&pieces[40], 20}}},
            {"mine", DType::f32, {203}, numbers.data(), Sharding::per_env, queue.get()},
            {"on the host", DType::f32, {203}, numbers.data(), replicated}};
  }
  std::vector<uint64_t> by_field() {
    Fingerprints fingerprints(*queue, list);
    fingerprints.enqueue(&all);
    return fingerprints.by_field();
  }
  std::unique_ptr<Queue> queue;
  Array<double> scalar;
  Array<float> numbers, pieces;
  std::vector<StateField> list;
  double all = 0;
};

TEST(Fingerprints, CoverTheReplicatedFieldsInTheQueuesMemory) {
  std::vector<uint64_t> first;
  for (Isa isa : available_isas()) {
    Fields fields(isa);
    const std::vector<uint64_t> by_field = fields.by_field();
    ASSERT_EQ(by_field.size(), 3u);
    EXPECT_EQ(fields.all, static_cast<double>(by_field[0] + by_field[1] + by_field[2]));
    if (first.empty()) first = by_field;
    EXPECT_EQ(by_field, first) << name_of(isa);
  }
}

// A flipped bit, two swapped numbers and the sign of a zero each change their field's fingerprint. Memory between the
// parts does not affect it.
TEST(Fingerprints, ChangeWithTheirField) {
  Fields fields(available_isas().back());
  const std::vector<uint64_t> same = fields.by_field();
  const auto expect_change = [&](std::vector<bool> changed) {
    const std::vector<uint64_t> now = fields.by_field();
    for (size_t k = 0; k < same.size(); ++k) EXPECT_EQ(now[k] != same[k], changed[k]) << fields.list[k].name;
  };
  for (size_t i : {0u, 100u, 202u}) {
    const float before = fields.numbers[i];
    fields.numbers[i] = std::nextafter(before, 2.0f);
    expect_change({false, true, false});
    fields.numbers[i] = before;
    std::swap(fields.numbers[i], fields.numbers[50]);
    expect_change({false, true, false});
    std::swap(fields.numbers[i], fields.numbers[50]);
  }
  fields.pieces[0] = -0.0f;
  expect_change({false, false, true});
  fields.pieces[0] = 0.0f;
  fields.pieces[30] = 5;
  expect_change({false, false, false});
  fields.scalar[0] = std::nextafter(fields.scalar[0], 1.0);
  expect_change({true, false, false});
}

}  // namespace
}  // namespace drl

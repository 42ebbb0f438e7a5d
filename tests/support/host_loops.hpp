// Runs function objects in all ways that a host has: on each instruction set of this machine, in packs and one index at
// a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "device/for_each.hpp"

namespace drl::test {

inline std::unique_ptr<Queue> host_queue() { return make_host_queue(available_isas().back()); }

class Loops {
 public:
  explicit Loops(Isa isa = available_isas().back(), bool packs = true) : queue_(make_host_queue(isa)), packs_(packs) {}
  Queue& queue() const { return *queue_; }
  bool packs() const { return packs_; }

  // Calls for_each, for all indices or for one index at a time (which uses lanes<float>).
  template <class Function>
  void operator()(int64_t count, const Function& function) const {
    if (packs_) return for_each(*queue_, count, function);
    for (int64_t i = 0; i < count; ++i) for_each(*queue_, i, i + 1, function);
  }

 private:
  std::unique_ptr<Queue> queue_;
  bool packs_;
};

// Returns the vector of numbers that run(loops) returns, and expects that it is bit-identical in all ways.
template <class Run>
auto in_every_way(Run&& run) {
  const Loops plain(available_isas().front(), false);
  const auto expected = run(plain);
  for (Isa isa : available_isas())
    for (bool packs : {false, true}) {
      const auto numbers = run(Loops(isa, packs));
      EXPECT_EQ(numbers.size(), expected.size());
      for (size_t i = 0; i < numbers.size() && i < expected.size(); ++i) {
        if (std::memcmp(&numbers[i], &expected[i], sizeof(numbers[i])) == 0) continue;
        ADD_FAILURE() << name_of(isa) << (packs ? " in packs" : " one by one") << ": number " << i << " is "
                      << numbers[i] << " instead of " << expected[i];
        break;
      }
    }
  return expected;
}

}  // namespace drl::test

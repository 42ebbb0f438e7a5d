// The iteration's float64 all-reduce. Everything that a rank must know from all others is a sum in a named place of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/array.hpp"
#include "device/fingerprint.hpp"

namespace drl {

// The places are, in this order: the training loop's own sums, those that the algorithm adds, one fingerprint per rank
// of its replicated state, and one flag per rank that says whether its sums are finite. All functions that are named
// enqueue_... enqueue work; the others run on the host.
class Slots {
 public:
  // A place of `size` sums. The algorithm keeps it under a name.
  struct Place {
    size_t offset = 0, size = 0;
  };

  explicit Slots(Queue& queue) : queue_(queue) {}
  // Adds a place. Must not be called after the first begin().
  Place add(size_t size);

  // Starts an iteration: takes the training loop's sums, and clears all others. The first call allocates the array.
  // Fingerprints cover the fields that `visit_state` enumerates, if they are replicated and in the queue's memory.
  void begin(std::span<const double> loop_sums, const Communicator& comm,
             const std::function<void(StateVisitor&)>& visit_state);
  bool has_begun() const { return fingerprints_ != nullptr; }

  void enqueue_begin();
  // Return the address of a place, which this rank's sums are written to before the all-reduce, and which holds the
  // sums over all ranks after it.
  double* at(const Place& place) { return sums_.data() + first_ + place.offset; }
  // Enqueues the fingerprints, the check that this rank's sums are finite, and the all-reduce.
  void enqueue_all_reduce(Communicator& comm);
  void enqueue_end();

  // Reads the reduced sums after the queue's work is done. The training loop's sums replace `loop_sums`. Throws the
  // same error on all ranks if the sums of one rank were not finite; it suggests lowering the options in `remedy`.
  void end(std::span<double> loop_sums, const std::string& remedy) const;
  std::span<const double> sums(const Place& place) const {
    return std::span<const double>(host_sums_).subspan(first_ + place.offset, place.size);
  }
  // See Algorithm.
  std::span<const double> fingerprints() const;
  std::vector<uint64_t> field_fingerprints() const { return fingerprints_->by_field(); }

 private:
  Queue& queue_;
  size_t first_ = 0, count_ = 0;  // number of the training loop's sums, and of the algorithm's
  size_t ranks_ = 0;
  std::unique_ptr<Fingerprints> fingerprints_;
  Array<double> sums_, host_sums_;
};

}  // namespace drl

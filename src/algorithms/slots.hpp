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

// The places are those that the algorithm and the training loop add, and after them one fingerprint per rank of its
// replicated state, and one flag per rank that says whether its sums are finite. All functions that are named
// enqueue_... enqueue work; the others run on the host.
class Slots {
 public:
  // A place of `size` sums. Whoever adds it keeps it under a name.
  struct Place {
    size_t offset = 0, size = 0;
  };

  explicit Slots(Queue& queue) : queue_(queue) {}
  // Adds a place. Must not be called after the first begin().
  Place add(size_t size);
  size_t size() const { return own_.size(); }  // of all places

  // Returns this rank's numbers of a place that the host writes, for the next iteration. They are 0 before that.
  std::span<double> own(const Place& place) { return std::span(own_).subspan(place.offset, place.size); }

  // Starts an iteration: takes the numbers that the host has written, and clears all others. The first call allocates
  // the array. Fingerprints cover the fields that `visit_state` enumerates, if they are replicated and in the queue's
  // memory.
  void begin(const Communicator& comm, const std::function<void(StateVisitor&)>& visit_state);
  bool has_begun() const { return fingerprints_ != nullptr; }

  void enqueue_begin();
  // Returns the address of a place, which this rank's sums are written to before the all-reduce, and which holds the
  // sums over all ranks after it.
  double* at(const Place& place) { return sums_.data() + place.offset; }
  // Enqueues the fingerprints, the check that this rank's sums are finite, and the all-reduce.
  void enqueue_all_reduce(Communicator& comm);
  void enqueue_end();

  // Call this after the queue's work is done. Throws the same error on all ranks if the sums of one rank were not
  // finite; it suggests lowering the options in `remedy`.
  void end(const std::string& remedy) const;
  // Return results of the last iteration: the sums over all ranks, the fingerprint of each rank's state, and this
  // rank's fingerprint of each field of that state, in the order in which `visit_state` enumerates them.
  std::span<const double> sums(const Place& place) const {
    return std::span<const double>(host_sums_).subspan(place.offset, place.size);
  }
  std::span<const double> fingerprints() const;
  std::vector<uint64_t> field_fingerprints() const { return fingerprints_->by_field(); }

 private:
  Queue& queue_;
  std::vector<double> own_;  // of all places
  size_t ranks_ = 0;
  std::string kind_of_rank_;
  std::unique_ptr<Fingerprints> fingerprints_;
  Array<double> sums_, host_sums_;
};

}  // namespace drl

// Fingerprints of replicated state, to detect ranks whose state is no longer bit-identical. They are computed where the
// state is, e.g. on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "device/state.hpp"
#include "drl/lanes/lanes.hpp"

namespace drl {

class Fingerprints {
 public:
  // Covers the fields that are replicated and in the queue's memory.
  Fingerprints(Queue& queue, const std::vector<StateField>& fields);

  // Enqueues the computation of one fingerprint of all fields, to `out` in the queue's memory: an integer below 2^53.
  void enqueue(double* out);
  // Returns a fingerprint of each field, from the last enqueue(). The caller must have waited for the queue.
  std::vector<uint64_t> by_field() const;

 private:
  friend struct SegmentHashes;
  struct Segment {
    const uint32_t* words;
    int64_t count;
  };

  Queue& queue_;
  std::vector<int> segments_of_field_;
  int64_t longest_ = 0;
  Array<Segment> segments_;
  Array<double> scratch_, hashes_, host_hashes_;  // one element per segment, except scratch_
};

}  // namespace drl

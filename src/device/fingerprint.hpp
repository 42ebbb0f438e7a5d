// Numbers that replicas share only as long as their state is equal to the bit, computed where the state is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/state.hpp"
#include "drl/lanes.hpp"

namespace drl {

class Fingerprints {
 public:
  // Of the replicated fields among `fields` that lie in the queue's memory.
  Fingerprints(Queue& queue, const std::vector<StateField>& fields);

  // Enqueues one number for all of them, to `out` in the queue's memory. It is an integer below 2^53.
  void enqueue(double* out);
  // One for each field, as of the last enqueue that was waited for.
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
  Array<double> scratch_, hashes_, host_hashes_;  // of the segments
};

}  // namespace drl

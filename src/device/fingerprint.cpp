#include "device/fingerprint.hpp"

#include <algorithm>

#include "device/fingerprint_kernels.hpp"

namespace drl {

Fingerprints::Fingerprints(Queue& queue, const std::vector<StateField>& fields) : queue_(queue) {
  std::vector<Segment> segments;
  for (const StateField& field : fields) {
    if (field.sharding != Sharding::replicated || field.queue != &queue) continue;
    const std::vector<StatePart> whole = {{field.data, field.count()}};
    const std::vector<StatePart>& parts = field.parts.empty() ? whole : field.parts;
    for (const StatePart& part : parts) {
      const int64_t words = part.count * static_cast<int64_t>(size_of(field.type)) / 4;
      segments.push_back({static_cast<const uint32_t*>(part.data), words});
      longest_ = std::max(longest_, words);
    }
    segments_of_field_.push_back(static_cast<int>(parts.size()));
  }
  segments_ = Array<Segment>(queue, segments.size());
  queue.copy(segments_.data(), segments.data(), segments.size());
  scratch_ = Array<double>(queue, sum_scratch(queue, static_cast<int64_t>(segments.size())));
  hashes_ = Array<double>(queue, segments.size());
  host_hashes_ = Array<double>(queue, segments.size(), Memory::host);
  queue.synchronize();  // the copy reads `segments`, which is destroyed here
}

void Fingerprints::enqueue(double* out) {
  const int count = static_cast<int>(segments_.size());
  sum_columns(queue_, longest_, count, scratch_.data(), SegmentHashes{segments_.data()}, StoreTo{hashes_.data()});
  for_each(queue_, 1, AddUp{hashes_.data(), count, out});
  queue_.copy(host_hashes_.data(), hashes_.data(), hashes_.size());
}

std::vector<uint64_t> Fingerprints::by_field() const {
  std::vector<uint64_t> result;
  const double* next = host_hashes_.data();
  for (int segments : segments_of_field_) {
    double sum = 0;
    for (int k = 0; k < segments; ++k) sum += *next++;
    result.push_back(static_cast<uint64_t>(sum));
  }
  return result;
}

}  // namespace drl

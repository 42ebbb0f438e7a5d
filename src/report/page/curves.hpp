// Curves of a group of runs over the same few hundred points.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/run_groups.hpp"

namespace drl {

// A point is a bucket of `width` iterations that follow each other.
struct Buckets {
  int64_t first = 0, width = 1;
  size_t count = 0;

  size_t of(int64_t iteration) const { return static_cast<size_t>((iteration - first) / width); }
};

// At most `max_points` buckets of equal width from the first iteration of these runs to the last.
Buckets buckets_of(const RunGroup& group, size_t max_points);

// Numbers in buckets; NaN where there is none. Of one run: mean, smallest and largest of the rows of a bucket. Of
// several: mean, smallest and largest of the runs' means in it. NaN and infinite rows do not count.
struct Curve {
  std::vector<double> mean, low, high;

  bool empty() const;      // no number at all
  bool has_range() const;  // somewhere low < high
};

Curve curve_of(const RunGroup& group, std::string_view column, const Buckets& buckets);

// Where a curve's points lie on an axis: the largest iteration, env_steps or elapsed_time (seconds) of a bucket, its
// mean over the runs that have it. Empty if no run has the column.
enum class Axis { env_steps, iteration, seconds };
std::vector<double> positions(const RunGroup& group, Axis axis, const Buckets& buckets);

// All columns of the groups' runs, in the order of the first file that has them.
std::vector<std::string> columns_of(const std::vector<RunGroup>& groups);

// Mean of a column over all rows of all runs of a group; NaN if there is none.
double mean_of(const RunGroup& group, std::string_view column);

// Of one number a run (NaN does not count): all NaN if there is none.
struct Statistics {
  double mean, low, high;
  size_t count = 0;
};
Statistics statistics_of(const std::vector<double>& values);

}  // namespace drl

// Reduces the runs of a group to curves with at most a few hundred points.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/run_groups.hpp"

namespace drl {

// Buckets of `width` consecutive iterations. Each is one point of a curve.
struct Buckets {
  int64_t first = 0, width = 1;
  size_t count = 0;

  size_t of(int64_t iteration) const { return static_cast<size_t>((iteration - first) / width); }
};

// Returns at most `max_points` buckets that cover the first to the last iteration of the group's runs.
Buckets buckets_of(const RunGroup& group, size_t max_points);

// Mean, minimum and maximum per bucket, NaN for buckets without values. For one run, they are taken over the rows of
// the bucket; for several runs, over the runs' means in the bucket. NaN and infinite values are ignored.
struct Curve {
  std::vector<double> mean, low, high;

  bool empty() const;      // contains no number
  bool has_range() const;  // low < high in some bucket
};

Curve curve_of(const RunGroup& group, std::string_view column, const Buckets& buckets);

// Returns the positions of a curve's points on an axis: the largest iteration, env_steps or elapsed_time (seconds) in
// each bucket, averaged over the runs; empty if no run has the column. After a run has ended, positions advance by the
// mean step of the remaining runs.
enum class Axis { env_steps, iteration, seconds };
std::vector<double> positions(const RunGroup& group, Axis axis, const Buckets& buckets);

// Returns all columns of the groups' runs, in the order in which they first appear.
std::vector<std::string> columns_of(const std::vector<RunGroup>& groups);

// Returns the mean of a column over all rows of all runs of a group, NaN if there are no values.
double mean_of(const RunGroup& group, std::string_view column);

// The finite ones of some values.
struct Statistics {
  double total = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  int64_t count = 0;

  void add(double value);
  bool empty() const { return low > high; }
  double mean() const { return total / static_cast<double>(count); }  // NaN if there are none
};
Statistics statistics_of(const std::vector<double>& values);

}  // namespace drl

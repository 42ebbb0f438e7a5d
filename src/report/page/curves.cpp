#include "report/page/curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace drl {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::vector<Statistics> sums_of(const RunRecord& run, const std::vector<double>& values, const Buckets& buckets) {
  std::vector<Statistics> sums(buckets.count);
  for (size_t row = 0; row < values.size(); ++row) sums[buckets.of(run.metrics.iterations[row])].add(values[row]);
  return sums;
}

std::vector<Statistics> sums_of(const RunGroup& group, std::string_view column, const Buckets& buckets) {
  if (group.runs.size() == 1) {
    const std::vector<double>* values = group.runs.front()->metrics.find(column);
    return values ? sums_of(*group.runs.front(), *values, buckets) : std::vector<Statistics>(buckets.count);
  }
  std::vector<Statistics> of_runs(buckets.count);
  size_t end = buckets.count;  // where the shortest run ends: behind it, the mean would be that of other runs
  for (const RunRecord* run : group.runs) {
    const std::vector<double>* values = run->metrics.find(column);
    if (values == nullptr || run->metrics.iterations.empty()) continue;
    const std::vector<Statistics> of_run = sums_of(*run, *values, buckets);
    for (size_t k = 0; k < of_run.size(); ++k) of_runs[k].add(of_run[k].mean());
    end = std::min(end, buckets.of(run->metrics.iterations.back()) + 1);
  }
  std::fill(of_runs.begin() + static_cast<std::ptrdiff_t>(end), of_runs.end(), Statistics{});
  return of_runs;
}

std::vector<double> axis_values(const RunRecord& run, Axis axis) {
  if (axis == Axis::iteration) return {run.metrics.iterations.begin(), run.metrics.iterations.end()};
  const std::vector<double>* values = run.metrics.find(axis == Axis::env_steps ? "env_steps" : "elapsed_time");
  return values ? *values : std::vector<double>();
}

}  // namespace

Buckets buckets_of(const RunGroup& group, size_t max_points) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
  for (const RunRecord* run : group.runs) {
    const std::vector<int64_t>& iterations = run->metrics.iterations;
    if (iterations.empty()) continue;
    first = std::min(first, iterations.front());
    last = std::max(last, iterations.back());
  }
  if (last < 0) return {};
  const int64_t total = last - first + 1, points = static_cast<int64_t>(max_points);
  const int64_t width = (total + points - 1) / points;
  return {first, width, static_cast<size_t>((total + width - 1) / width)};
}

bool Curve::empty() const {
  return std::ranges::all_of(mean, [](double value) { return std::isnan(value); });
}

bool Curve::has_range() const {
  for (size_t k = 0; k < mean.size(); ++k)
    if (low[k] < high[k]) return true;
  return false;
}

Curve curve_of(const RunGroup& group, std::string_view column, const Buckets& buckets) {
  Curve curve;
  for (const Statistics& sum : sums_of(group, column, buckets)) {
    curve.mean.push_back(sum.mean());
    curve.low.push_back(sum.count > 0 ? sum.low : kNone);
    curve.high.push_back(sum.count > 0 ? sum.high : kNone);
  }
  return curve;
}

std::vector<double> positions(const RunGroup& group, Axis axis, const Buckets& buckets) {
  std::vector<Statistics> all(buckets.count), advance(buckets.count);  // positions, and steps from the previous bucket
  for (const RunRecord* run : group.runs) {
    const std::vector<Statistics> of_run = sums_of(*run, axis_values(*run, axis), buckets);
    for (size_t k = 0; k < of_run.size(); ++k) {
      if (of_run[k].count == 0) continue;
      all[k].add(of_run[k].high);
      if (k > 0 && of_run[k - 1].count > 0) advance[k].add(of_run[k].high - of_run[k - 1].high);
    }
  }
  // After a slow run has ended, continue from the mean position with the steps of the others.
  std::vector<double> result;
  for (size_t k = 0; k < all.size(); ++k) {
    const bool goes_on = k > 0 && advance[k].count > 0 && !std::isnan(result[k - 1]);
    result.push_back(goes_on ? result[k - 1] + advance[k].mean() : all[k].mean());
  }
  const bool none = std::ranges::all_of(result, [](double x) { return std::isnan(x); });
  return none ? std::vector<double>() : result;
}

std::vector<std::string> columns_of(const std::vector<RunGroup>& groups) {
  std::vector<std::string> columns;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs)
      for (const std::string& column : run->metrics.columns)
        if (!contains(columns, column)) columns.push_back(column);
  return columns;
}

double mean_of(const RunGroup& group, std::string_view column) {
  Statistics sum;
  for (const RunRecord* run : group.runs)
    if (const std::vector<double>* values = run->metrics.find(column))
      for (double value : *values) sum.add(value);
  return sum.mean();
}

Statistics statistics_of(const std::vector<double>& values) {
  Statistics all;
  for (double value : values) all.add(value);
  return all;
}

void Statistics::add(double value) {
  if (!std::isfinite(value)) return;
  total += value;
  low = std::min(low, value);
  high = std::max(high, value);
  ++count;
}

}  // namespace drl

// A chart: an SVG drawing that needs no script, and the numbers behind it for the page's script.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/page/curves.hpp"

namespace drl {

struct Series {
  size_t group = 0;  // names its positions among all groups of the page
  size_t color = 0;  // 0 to kColors - 1
  std::string name;  // of a part, where a chart shows several of a group; else ""
  Curve curve;
  bool filled = false;  // an area from low to high, with no line
};

constexpr size_t kColors = 8;

struct Chart {
  std::string title, note;  // note: a unit, or ""
  std::string hover;        // how a value is written there: "" as it is, or "count" or "seconds"
  std::vector<Series> series;
  bool from_zero = false;   // the value axis begins at 0
  bool may_be_log = false;  // it is logarithmic if all values are above 0 and span more than a factor of 50
};

// The position of each point of each group on one axis; a group without the axis is empty.
using Positions = std::vector<std::vector<double>>;

// Marks for a value axis from low to high: about `count` round numbers.
std::vector<double> round_marks(double low, double high, int count);

// A <figure> with the chart drawn over `positions`. Series without a number are left out.
std::string chart_figure(const Chart& chart, const Positions& positions, const std::string& axis_label, size_t number);

// What the page's script draws it anew from, on another axis, and shows values by. Five significant digits.
nlohmann::ordered_json chart_numbers(const Chart& chart);

// A list of numbers as JSON, null for NaN.
nlohmann::ordered_json number_list(const std::vector<double>& numbers);

}  // namespace drl

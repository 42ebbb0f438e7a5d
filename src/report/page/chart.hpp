// Draws a chart as SVG, which needs no script, and returns its numbers for the page's script.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/page/curves.hpp"

namespace drl {

struct Series {
  size_t group = 0;  // index of the group among all groups of the page, and in Positions
  size_t color = 0;  // 0 to kColors - 1
  std::string name;  // of the part, if the chart shows several parts of a group; else ""
  Curve curve;
  bool filled = false;  // an area from low to high, with no line
};

constexpr size_t kColors = 8;

struct Chart {
  std::string title, note;  // the note is a unit or ""
  std::string hover;        // format of values under the pointer: "" (plain), "count" or "seconds"
  std::vector<Series> series;
  bool from_zero = false;   // start the value axis at 0
  bool may_be_log = false;  // use a logarithmic value axis if all values are positive and span a factor above 50
};

// [group][point] positions on one axis; empty for groups without that axis.
using Positions = std::vector<std::vector<double>>;

// Returns about `count` round numbers from low to high, the ticks of an axis.
std::vector<double> round_marks(double low, double high, int count);

// Returns a <figure> with the chart drawn over `positions`; `number` is its index among the page's charts.
std::string chart_figure(const Chart& chart, const Positions& positions, const std::string& axis_label, size_t number);

// Returns the numbers from which the page's script redraws the chart on another axis and shows values, with five
// significant digits.
nlohmann::ordered_json chart_numbers(const Chart& chart);

// Returns numbers as JSON, null for NaN and infinities.
nlohmann::ordered_json number_list(const std::vector<double>& numbers);

}  // namespace drl

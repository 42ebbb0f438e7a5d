#include "report/page/chart.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/format.hpp"
#include "report/page/html.hpp"

namespace drl {
namespace {

// In the drawing's units. The page's script uses the same numbers (look.js).
constexpr double kWidth = 420, kHeight = 230, kLeft = 50, kRight = 408, kTop = 10, kBottom = 196;
constexpr int kValueMarks = 6, kPositionMarks = 6;
constexpr double kFarAway = 2;   // how far an outlier is from the middle 96 % of the values, in their range
constexpr double kLogFrom = 50;  // ratio of the highest and the lowest value

struct Scale {
  double low = 0, high = 1;
  bool log = false;

  double share(double value) const {
    return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

double x_of(const Scale& scale, double value) { return kLeft + scale.share(value) * (kRight - kLeft); }
double y_of(const Scale& scale, double value) { return kBottom - scale.share(value) * (kBottom - kTop); }

Statistics all_values(const Chart& chart) {
  Statistics all;
  for (const Series& series : chart.series)
    for (const auto* numbers : {&series.curve.low, &series.curve.high})
      for (double value : *numbers) all.add(value);
  return all;
}

// Returns the range to draw. A few values far from all others, such as those of the first iterations, are left out, so
// that they do not flatten the curves.
Statistics value_range(const Chart& chart) {
  const Statistics all = all_values(chart);
  std::vector<double> values;
  for (const Series& series : chart.series)
    for (const auto* numbers : {&series.curve.low, &series.curve.high})
      std::ranges::copy_if(*numbers, std::back_inserter(values), [](double value) { return std::isfinite(value); });
  if (values.size() < 40 || chart.may_be_log) return all;  // a logarithmic scale shows all values
  std::ranges::sort(values);
  const double low = values[values.size() / 50], high = values[values.size() - 1 - values.size() / 50];
  const double room = kFarAway * (high - low);
  if (!(room > 0)) return all;
  return {.low = all.low < low - room ? low : all.low, .high = all.high > high + room ? high : all.high};
}

Scale value_scale(const Chart& chart) {
  Statistics range = value_range(chart);
  if (chart.from_zero) range.add(0);
  if (range.empty()) return {};
  if (chart.may_be_log && range.low > 0 && range.high > kLogFrom * range.low)
    return {range.low / 1.1, range.high * 1.1, true};
  const double spread = range.high - range.low;
  const double room = spread > 0 ? 0.04 * spread : range.low != 0 ? 0.1 * std::abs(range.low) : 1;
  return {chart.from_zero && range.low == 0 ? 0 : range.low - room, range.high + room, false};
}

Scale position_scale(const Chart& chart, const Positions& positions) {
  Statistics range;
  for (const Series& series : chart.series)
    for (size_t k = 0; k < series.curve.mean.size() && k < positions[series.group].size(); ++k)
      if (std::isfinite(series.curve.mean[k])) range.add(positions[series.group][k]);
  if (range.empty()) return {};
  return range.high > range.low ? Scale{range.low, range.high} : Scale{range.low - 1, range.high + 1};
}

std::vector<double> marks_of(const Scale& scale, int count) {
  if (!scale.log) return round_marks(scale.low, scale.high, count);
  std::vector<double> marks;
  const double first = std::ceil(std::log10(scale.low)), last = std::floor(std::log10(scale.high));
  const double step = std::max(1.0, std::ceil((last - first) / count));
  for (double power = first; power <= last; power += step) marks.push_back(std::pow(10, power));
  return marks;
}

std::string mark_text(double value) {
  constexpr std::pair<double, const char*> kPrefixes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  if (std::abs(value) >= 1e4 && std::abs(value) < 1e15)
    for (const auto& [unit, prefix] : kPrefixes)
      if (std::abs(value) >= unit) return fmt::format("{:.4g}{}", value / unit, prefix);
  return fmt::format("{:.4g}", value);
}

std::string axes(const Scale& x, const Scale& y, const std::string& axis_label) {
  std::string svg = "<g class=\"y\">";
  for (double mark : marks_of(y, kValueMarks))
    svg += fmt::format(R"(<path d="M{:g},{:.1f}H{:g}"/><text x="{:g}" y="{:.1f}">{}</text>)", kLeft, y_of(y, mark),
                       kRight, kLeft - 5, y_of(y, mark) + 4, mark_text(mark));
  svg += "</g><g class=\"x\">";
  for (double mark : round_marks(x.low, x.high, kPositionMarks))
    svg += fmt::format(R"(<text x="{:.1f}" y="{:g}">{}</text>)", x_of(x, mark), kBottom + 15, mark_text(mark));
  svg += fmt::format(R"(<text class="label" x="{:g}" y="{:g}">{}</text></g>)", (kLeft + kRight) / 2, kHeight - 5,
                     html_text(axis_label));
  return svg;
}

// Returns the ranges [begin, end) of consecutive finite points.
std::vector<std::pair<size_t, size_t>> pieces(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t k = 0; k < x.size(); ++k) {
    if (!std::isfinite(x[k]) || !std::isfinite(y[k])) continue;
    const bool goes_on = !all.empty() && all.back().second == k;
    if (goes_on)
      all.back().second = k + 1;
    else
      all.emplace_back(k, k + 1);
  }
  return all;
}

std::string point(const Scale& x, const Scale& y, double at, double value) {
  return fmt::format("{:.1f},{:.1f}", x_of(x, at), y_of(y, value));
}

std::string line_path(const std::vector<double>& at, const Curve& curve, const Scale& x, const Scale& y) {
  std::string path;
  for (const auto& [begin, end] : pieces(at, curve.mean)) {
    path += "M" + point(x, y, at[begin], curve.mean[begin]) + "h0";  // makes a single point visible
    for (size_t k = begin + 1; k < end; ++k) path += "L" + point(x, y, at[k], curve.mean[k]);
  }
  return path;
}

std::string area_path(const std::vector<double>& at, const Curve& curve, const Scale& x, const Scale& y) {
  std::string path;
  for (const auto& [begin, end] : pieces(at, curve.mean)) {
    for (size_t k = begin; k < end; ++k) path += (k == begin ? "M" : "L") + point(x, y, at[k], curve.high[k]);
    for (size_t k = end; k-- > begin;) path += "L" + point(x, y, at[k], curve.low[k]);
    path += "Z";
  }
  return path;
}

// Returns the paths of a series, an area and a line or one of them, in the order that the page's script expects.
std::string drawn(const Series& series, const std::vector<double>& at, const Scale& x, const Scale& y) {
  const bool area = series.filled || series.curve.has_range();
  std::string svg;
  const auto path = [&](const char* kind, const std::string& d) {
    svg += fmt::format(R"(<path class="{} c{} g{}" d="{}"/>)", kind, series.color, series.group, d);
  };
  if (area) path(series.filled ? "fill" : "band", area_path(at, series.curve, x, y));
  if (!series.filled) path("line", line_path(at, series.curve, x, y));
  return svg;
}

nlohmann::ordered_json number_or_null(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.5g}", value));
}

}  // namespace

std::vector<double> round_marks(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  if (!(rough > 0) || !std::isfinite(rough) || !(power > 0)) return {low};
  double step = power * 10;
  for (double factor : {1, 2, 5})
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  std::vector<double> marks;
  const double first = std::ceil(low / step - 1e-9);
  for (int k = 0; k <= 2 * count && (first + k) * step <= high + 1e-9 * step; ++k) marks.push_back((first + k) * step);
  return marks;
}

std::string chart_figure(const Chart& chart, const Positions& positions, const std::string& axis_label, size_t number) {
  const Scale x = position_scale(chart, positions), y = value_scale(chart);
  std::string svg = axes(x, y, axis_label);
  svg += fmt::format(
      "<clipPath id=\"plot{0}\"><rect x=\"{1:g}\" y=\"{2:g}\" width=\"{3:g}\" height=\"{4:g}\"/></clipPath>"
      "<g class=\"curves\" clip-path=\"url(#plot{0})\">",
      number, kLeft - 2, kTop - 2, kRight - kLeft + 4, kBottom - kTop + 4);
  for (const Series& series : chart.series) svg += drawn(series, positions[series.group], x, y);
  svg += "</g>";
  const Statistics all = all_values(chart);
  const std::string title = html_text(chart.title),
                    note = chart.note + (y.log ? " log scale" : "") +
                           (all.low < y.low || all.high > y.high ? " some values are outside" : "");
  return fmt::format(
      "<figure class=\"chart\" data-chart=\"{}\"><figcaption>{}{}</figcaption>"
      "<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">{}</svg></figure>\n",
      number, title, note.empty() ? "" : " <small>" + html_text(note) + "</small>", kWidth, kHeight, title, svg);
}

nlohmann::ordered_json number_list(const std::vector<double>& numbers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (double number : numbers) list.push_back(number_or_null(number));
  return list;
}

nlohmann::ordered_json chart_numbers(const Chart& chart) {
  const Scale y = value_scale(chart);
  nlohmann::ordered_json numbers = {{"low", y.low}, {"high", y.high}, {"log", y.log}, {"hover", chart.hover}};
  numbers["series"] = nlohmann::ordered_json::array();
  for (const Series& series : chart.series) {
    nlohmann::ordered_json one = {{"group", series.group}, {"color", series.color}, {"filled", series.filled}};
    if (!series.name.empty()) one["name"] = series.name;
    one["mean"] = number_list(series.curve.mean);
    if (series.filled || series.curve.has_range()) {
      one["low"] = number_list(series.curve.low);
      one["high"] = number_list(series.curve.high);
    }
    numbers["series"].push_back(std::move(one));
  }
  return numbers;
}

}  // namespace drl

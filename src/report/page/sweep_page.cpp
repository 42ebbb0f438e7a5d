#include "report/page/sweep_page.hpp"

#include <algorithm>
#include <span>

#include "base/format.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "report/format.hpp"
#include "report/page/html.hpp"
#include "report/page/look.hpp"

namespace drl {
namespace {

constexpr double kWidth = 1000, kTop = 40, kBottom = 330, kLeft = 70, kRight = 900;

std::string value_or_note(const SweepRow& row) {
  return std::isnan(row.objective) && !row.note.empty() ? row.note : human_number(row.objective);
}

// Returns how far up the axis the value is, from 0 to 1; NaN if it is not on the axis.
double share_of(const SweepAxis& axis, const std::string& value) {
  if (!axis.choices.empty()) {
    const auto at = std::ranges::find(axis.choices, value);
    if (at == axis.choices.end()) return NAN;
    return axis.choices.size() == 1 ? 0.5 : 1.0 * (at - axis.choices.begin()) / (std::ssize(axis.choices) - 1);
  }
  const double number = number_in<double>(value).value_or(NAN);
  if (axis.low == axis.high) return 0.5;
  return axis.is_log ? std::log(number / axis.low) / std::log(axis.high / axis.low)
                     : (number - axis.low) / (axis.high - axis.low);
}

// Returns the values to write beside the axis.
std::vector<std::string> marks_of(const SweepAxis& axis) {
  if (!axis.choices.empty()) return axis.choices;
  if (axis.low == axis.high) return {number_text(axis.low)};
  std::vector<std::string> marks;
  for (int k = 0; k <= 4; ++k) {
    double mark =
        axis.is_log ? axis.low * std::pow(axis.high / axis.low, k / 4.0) : axis.low + (axis.high - axis.low) * k / 4.0;
    if (axis.is_whole) mark = std::round(mark);
    if (const std::string text = fmt::format("{:.4g}", mark); !contains(marks, text)) marks.push_back(text);
  }
  return marks;
}

double y_of(double share) { return kBottom - std::clamp(share, 0.0, 1.0) * (kBottom - kTop); }

std::string drawn_axis(const SweepAxis& axis, double x) {
  std::string text = fmt::format(
      "<path d=\"M{0:.1f},{1}V{2}\" style=\"stroke: var(--faint)\"/>\n<text x=\"{0:.1f}\" y=\"{3}\" "
      "text-anchor=\"middle\" style=\"font-weight: 600; fill: var(--text)\">{4}</text>\n",
      x, kTop, kBottom, kTop - 16, html_text(axis.name));
  for (const std::string& mark : marks_of(axis))
    if (const double share = share_of(axis, mark); !std::isnan(share))
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 6, y_of(share) + 4, html_text(mark));
  return text;
}

std::string drawn_row(const SweepTable& table, const std::vector<SweepAxis>& axes, size_t k, size_t drawn) {
  const SweepRow& row = table.rows[k];
  std::vector<std::string> values = row.values;
  values.push_back(number_text(row.objective));
  std::string path, text = row.run + ", " + table.objective + " " + human_number(row.objective);
  for (size_t a = 0; a < axes.size(); ++a) {
    const double x = kLeft + (kRight - kLeft) * static_cast<double>(a) / static_cast<double>(axes.size() - 1);
    path += fmt::format("{}{:.1f},{:.1f}", a == 0 ? "M" : "L", x, y_of(share_of(axes[a], values[a])));
    if (a + 1 < axes.size()) text += "\n" + axes[a].name + " = " + values[a];
  }
  const double opacity = 1 - 0.85 * static_cast<double>(k) / static_cast<double>(std::max<size_t>(drawn, 1));
  return fmt::format(
      "<path class=\"line {}\" style=\"opacity: {:.2f}; stroke-width: {}\" d=\"{}\"><title>{}</title></path>\n",
      k == 0 ? "c1" : "c0", opacity, k == 0 ? 3 : 1.6, path, html_text(text));
}

// Returns the parallel coordinates, the best trial on top.
std::string drawing(const SweepTable& table) {
  std::vector<SweepAxis> axes = table.axes;
  size_t drawn = 0;
  double low = INFINITY, high = -INFINITY;
  for (const SweepRow& row : table.rows)
    if (!std::isnan(row.objective)) ++drawn, low = std::min(low, row.objective), high = std::max(high, row.objective);
  if (drawn == 0) return "<p>No trial has an objective yet.</p>\n";
  axes.push_back({.name = table.objective, .low = low, .high = high});
  std::string text = fmt::format("<figure><figcaption>Trials</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\">\n",
                                 kWidth, kBottom + 20);
  for (size_t k = table.rows.size(); k-- > 0;)
    if (!std::isnan(table.rows[k].objective)) text += drawn_row(table, axes, k, drawn);
  for (size_t a = 0; a < axes.size(); ++a)
    text +=
        drawn_axis(axes[a], kLeft + (kRight - kLeft) * static_cast<double>(a) / static_cast<double>(axes.size() - 1));
  return text + "</svg></figure>\n";
}

std::vector<std::string> header_of(const SweepTable& table) {
  std::vector<std::string> header = {"rank", "run", "iterations", table.objective};
  for (const SweepAxis& axis : table.axes) header.push_back(axis.name);
  return header;
}

// Calls take(cells) for each row, with the objective as text(row).
template <class Text, class Take>
void for_each_row(const SweepTable& table, const Text& text, const Take& take) {
  for (size_t k = 0; k < table.rows.size(); ++k) {
    const SweepRow& row = table.rows[k];
    std::vector<std::string> cells = {std::to_string(k + 1), row.run, std::to_string(row.iterations), text(row)};
    cells.insert(cells.end(), row.values.begin(), row.values.end());
    take(cells);
  }
}

}  // namespace

std::string sweep_text(const SweepTable& table, size_t most) {
  TextRows rows = {header_of(table)};
  for_each_row(table, value_or_note, [&](const std::vector<std::string>& cells) {
    if (rows.size() <= most) rows.push_back(cells);
  });
  const std::string text = table_text(rows, ">" + std::string("<") + std::string(table.axes.size() + 2, '>'));
  return table.rows.size() <= most ? text : text + fmt::format("  and {} more\n", table.rows.size() - most);
}

std::string sweep_csv(const SweepTable& table) {
  const auto quoted = [](std::vector<std::string> cells) {  // a list such as 64,64 is one cell
    for (std::string& cell : cells)
      if (cell.find(',') != std::string::npos) cell = "\"" + cell + "\"";
    return join(cells, ",") + "\n";
  };
  std::string text = quoted(header_of(table));
  for_each_row(
      table, [](const SweepRow& row) { return number_text(row.objective); },
      [&](const std::vector<std::string>& cells) { text += quoted(cells); });
  return text;
}

std::string sweep_page(const SweepTable& table) {
  const auto row = [](const char* tag, const std::vector<std::string>& cells) {
    std::string text = "<tr>";
    for (size_t k = 0; k < cells.size(); ++k)
      text += fmt::format("<{0}{1}>{2}</{0}>", tag, k == 1 ? "" : " class=\"number\"", html_text(cells[k]));
    return text + "</tr>\n";
  };
  std::string rows = row("th", header_of(table));
  for_each_row(table, value_or_note, [&](const std::vector<std::string>& cells) { rows += row("td", cells); });
  return fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{0}</title>\n<style>\n{1}"
      "</style></head>\n<body>\n<h1>{0}</h1>\n<p class=\"faint\">{2}, {3}, drl_sweep {4}</p>\n<p>Each line is a trial; "
      "the thick one is the best, and paler ones are worse. Point at a line to see its values.</p>\n{5}"
      "<h3>Results</h3>\n<div class=\"table\"><table>\n{6}</table></div>\n</body></html>\n",
      html_text(table.title), kStyle, html_text(table.facts), utc_time(), html_text(kVersion), drawing(table), rows);
}

}  // namespace drl

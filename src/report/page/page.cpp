#include "report/page/page.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "report/page/chart.hpp"
#include "report/page/films.hpp"
#include "report/page/html.hpp"
#include "report/page/look.hpp"
#include "report/page/tables.hpp"

namespace drl {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPointsOfPage = 6000, kFewestPoints = 60;  // most points per chart, and a lower limit per curve
constexpr size_t kManyCurves = 12;                          // with more curves, lines are thinner
constexpr size_t kTimeCharts = 6;                           // number of groups whose times are also drawn as charts

// The section of the page with a column's chart.
enum class Part { first, learning, terms, metrics, ends, curriculum, speed, other, none };

struct PartText {
  Part part;
  const char *prefix, *title;
};
constexpr PartText kParts[] = {{Part::first, "", "Episode reward and length"},
                               {Part::terms, "episode/", "Reward terms, mean sum per episode"},
                               {Part::metrics, "metrics/", "Task metrics"},
                               {Part::ends, "episode_termination/", "How episodes end, fraction of episodes"},
                               {Part::curriculum, "curriculum/", "Curriculum"},
                               {Part::learning, "", "Learning"},
                               {Part::speed, "", "Speed"},
                               {Part::other, "", "Other columns"}};

Part part_of(const std::string& column) {
  if (column == "mean_reward" || column == "mean_episode_length") return Part::first;
  if (column == "steps_per_second") return Part::speed;
  if (contains({"env_steps", "elapsed_time", "collection_time", "learning_time", "waiting_time", "iteration_time"},
               column))
    return Part::none;  // shown as axes and in the section of times
  if (contains({"episodes", "lost_environments"}, column) || column.starts_with("episode_reward/")) return Part::other;
  for (const PartText& text : kParts)
    if (*text.prefix != 0 && column.starts_with(text.prefix)) return text.part;
  return Part::learning;
}

std::string title_of(std::string column) {
  for (const PartText& text : kParts)
    if (*text.prefix != 0 && column.starts_with(text.prefix)) return column.substr(std::string(text.prefix).size());
  std::ranges::replace(column, '_', ' ');
  return column;
}

struct AxisText {
  Axis axis;
  const char* label;
};

// Builds the page's HTML and, at the same time, the numbers for its script.
class Page {
 public:
  Page(const std::vector<RunGroup>& groups, const PageOptions& options)
      : groups_(groups), options_(options), films_(options.file, options.film_bytes) {
    const size_t share = kPointsOfPage / std::max<size_t>(1, groups.size());
    max_points_ = std::min(options.max_points, std::max(kFewestPoints, share));
    for (const RunGroup& group : groups) {
      buckets_.push_back(buckets_of(group, max_points_));
      width_ = std::max(width_, buckets_.back().width);
    }
    find_axes();
  }

  std::string html(const std::vector<std::string>& warnings) {
    std::string body = head(warnings);
    for (size_t first = 0; first < groups_.size();) {
      size_t last = first;
      while (last < groups_.size() && groups_[last].task == groups_[first].task) ++last;
      body += task(first, last - first);
      first = last;
    }
    return start() + body + end();
  }

 private:
  void find_axes() {
    for (const AxisText& text : {AxisText{Axis::env_steps, "environment steps"}, AxisText{Axis::iteration, "iteration"},
                                 AxisText{Axis::seconds, "wall time"}}) {
      Positions all;
      bool complete = true;
      double largest = 0;
      for (size_t g = 0; g < groups_.size(); ++g) {
        all.push_back(positions(groups_[g], text.axis, buckets_[g]));
        complete = complete && (buckets_[g].count == 0 || !all.back().empty());
        for (double x : all.back()) largest = std::isfinite(x) ? std::max(largest, x) : largest;
      }
      std::string label = text.label;
      if (text.axis == Axis::seconds) label += convert_to_large_units(all, largest);
      // Skips an axis that a group lacks. If no axis is complete, curves are drawn over iterations.
      if (complete || (text.axis == Axis::iteration && axes_.empty())) axes_.emplace_back(label, std::move(all));
    }
  }

  static std::string convert_to_large_units(Positions& seconds, double largest) {
    const double unit = largest > 7200 ? 3600 : largest > 300 ? 60 : 1;
    for (auto& list : seconds)
      for (double& x : list) x /= unit;
    return unit == 3600 ? ", h" : unit == 60 ? ", min" : ", s";
  }

  std::string start() const {
    return "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
           html_text(options_.title) + "</title>\n<style>\n" + kStyle + "</style></head>\n<body>\n";
  }

  std::string head(const std::vector<std::string>& warnings) const {
    const size_t runs = std::accumulate(groups_.begin(), groups_.end(), size_t{0},
                                        [](size_t sum, const RunGroup& group) { return sum + group.runs.size(); });
    std::string html = "<h1>" + html_text(options_.title) + "</h1>\n<p class=\"faint\">" +
                       counted(static_cast<int64_t>(runs), "run") + ", " + html_text(utc_time()) + ", drl_report " +
                       html_text(kVersion) + "</p>\n";
    if (!warnings.empty()) {
      html += "<ul class=\"warnings\">\n";
      for (const std::string& warning : warnings) html += "<li>" + html_text(warning) + "</li>\n";
      html += "</ul>\n";
    }
    html +=
        "<p>Each curve is one run, or the mean of runs that differ only in their seed, up to the end of the shortest; "
        "the shaded area is the range "
        "over these runs. " +
        thinning() + "</p>\n";
    return html + "<nav class=\"axes\" hidden=\"hidden\"></nav>\n";
  }

  std::string thinning() const {
    if (width_ == 1) return "Every iteration is drawn.";
    return fmt::format(
        "Curves have at most {} points, each the mean of up to {} iterations; for a single run, the shaded area is the "
        "range over these iterations.",
        max_points_, width_);
  }

  std::string task(size_t first, size_t count) {
    const std::span<const RunGroup> groups(groups_.data() + first, count);
    std::string html = "<h2>" + html_text(groups.front().task) + "</h2>\n" + group_table(groups, first);
    const std::vector<std::string> columns = columns_of({groups.begin(), groups.end()});
    for (const PartText& part : kParts) html += charts(part, columns, first, count);
    html += times(groups, first);
    html += "<h3>Runs</h3>\n" + run_table(groups, first);
    if (const std::string table = option_table(groups, first); !table.empty())
      html += "<h3>Options that differ</h3>\n" + table;
    html += films_.html(groups);
    return html + all_options(groups);
  }

  std::string charts(const PartText& part, const std::vector<std::string>& columns, size_t first, size_t count) {
    std::string html;
    for (const std::string& column : columns)
      if (part_of(column) == part.part) html += chart(column, first, count);
    if (html.empty()) return "";
    const std::string classes =
        std::string("charts") + (part.part == Part::first ? " first" : "") + (count > kManyCurves ? " many" : "");
    html = "<div class=\"" + classes + "\">\n" + html + "</div>\n";
    if (part.part == Part::other)
      return "<details><summary>" + std::string(part.title) + "</summary>\n" + html + "</details>\n";
    return "<h3>" + std::string(part.title) + "</h3>\n" + html;
  }

  // Returns the chart of a column; "" if it has no numbers, or if no environment was lost.
  std::string chart(const std::string& column, size_t first, size_t count) {
    Chart chart;
    chart.title = title_of(column);
    chart.note = column == "mean_episode_length" ? "steps" : column == "steps_per_second" ? "all ranks" : "";
    chart.hover = part_of(column) == Part::speed ? "count" : "";
    chart.may_be_log = contains({"value_loss", "kl", "gradient_norm"}, column);
    chart.from_zero = part_of(column) == Part::speed;
    bool zero = column == "lost_environments";
    for (size_t g = first; g < first + count; ++g) {
      Curve curve = curve_of(groups_[g], column, buckets_[g]);
      if (curve.empty()) continue;
      zero = zero && std::ranges::all_of(curve.high, [](double value) { return !(value > 0); });
      chart.series.push_back({g, g % kColors, "", std::move(curve)});
    }
    return chart.series.empty() || zero ? "" : add(chart);
  }

  std::string add(const Chart& chart) {
    charts_.push_back(chart_numbers(chart));
    return chart_figure(chart, axes_.front().second, axes_.front().first, charts_.size() - 1);
  }

  std::string times(std::span<const RunGroup> groups, size_t first) {
    const std::string table = time_table(groups, first);
    if (table.empty()) return "";
    std::string html = "<h3>Time per iteration</h3>\n" + table, drawn;
    for (size_t g = first; g < first + std::min(groups.size(), kTimeCharts); ++g) drawn += time_chart(g);
    return drawn.empty() ? html : html + "<p></p><div class=\"charts\">\n" + drawn + "</div>\n";
  }

  // Returns a stacked chart of the parts of an iteration.
  std::string time_chart(size_t g) {
    Chart chart{.title = "time per iteration", .note = groups_[g].label + ", s", .hover = "seconds", .series = {}};
    chart.from_zero = true;
    std::vector<double> below(buckets_[g].count, 0.0);
    const auto put = [&](const char* name, size_t color, const std::vector<double>& seconds) {
      Curve part{seconds, below, below};
      for (size_t k = 0; k < below.size(); ++k)
        part.high[k] = below[k] += std::isfinite(seconds[k]) ? std::max(seconds[k], 0.0) : 0;
      chart.series.push_back({g, color, name, std::move(part), true});
    };
    for (const TimePart& part : kTimeParts)
      put(part.name, part.color, curve_of(groups_[g], part.column, buckets_[g]).mean);
    std::vector<double> rest = curve_of(groups_[g], "iteration_time", buckets_[g]).mean;
    for (size_t k = 0; k < rest.size(); ++k) rest[k] = std::max(rest[k] - below[k], 0.0);
    put("rest", kRestColor, rest);
    std::erase_if(chart.series, [](const Series& series) { return series.curve.empty(); });
    return chart.series.empty() ? "" : add(chart);
  }

  static std::string all_options(std::span<const RunGroup> groups) {
    std::string lines;
    for (const auto& [name, value] : common_options(groups)) lines += name + " = " + value + "\n";
    if (lines.empty()) return "";
    const bool one = groups.size() == 1 && groups.front().runs.size() == 1;
    return std::string("<details><summary>") + (one ? "Options" : "Options that all these runs share") +
           "</summary><pre>" + html_text(lines) + "</pre></details>\n";
  }

  std::string end() const {
    Json numbers;
    numbers["groups"] = Json::array();
    for (const RunGroup& group : groups_) numbers["groups"].push_back(group.label);
    numbers["axes"] = Json::array();
    for (const auto& [label, all] : axes_) {
      Json axis = {{"label", label}, {"positions", Json::array()}};
      for (const auto& list : all) axis["positions"].push_back(number_list(list));
      numbers["axes"].push_back(std::move(axis));
    }
    numbers["charts"] = charts_;
    return "<script id=\"numbers\" type=\"application/json\">" + script_text(numbers) +
           "</script>\n<script>//<![CDATA[\n" + kScript + "//]]></script>\n</body></html>\n";
  }

  // Returns JSON that is safe inside HTML.
  static std::string script_text(const Json& numbers) {
    std::string text;
    for (char c : numbers.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace))
      text += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
    return text;
  }

  const std::vector<RunGroup>& groups_;
  const PageOptions& options_;
  Films films_;
  size_t max_points_ = 0;
  int64_t width_ = 1;                                    // the largest width of all buckets
  std::vector<Buckets> buckets_;                         // per group
  std::vector<std::pair<std::string, Positions>> axes_;  // label, and the positions of each group
  Json charts_ = Json::array();
};

}  // namespace

std::string report_page(const std::vector<RunGroup>& groups, const std::vector<std::string>& warnings,
                        const PageOptions& options) {
  DRL_CHECK(!groups.empty(), "the report has no runs");
  return Page(groups, options).html(warnings);
}

}  // namespace drl

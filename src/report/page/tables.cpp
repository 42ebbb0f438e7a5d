#include "report/page/tables.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/format.hpp"
#include "report/page/chart.hpp"
#include "report/page/html.hpp"

namespace drl {
namespace {

constexpr size_t kValuesShown = 8;

struct Cell {
  std::string html;
  enum Kind { text, number, wrapped } kind = text;
};

// Builds an HTML table row by row.
class Table {
 public:
  explicit Table(const std::vector<Cell>& heads) {
    for (const Cell& head : heads) add("th", head);
    html_ = "<tr>" + html_ + "</tr>\n";
  }
  void row(const std::vector<Cell>& cells) {
    html_ += "<tr>";
    for (const Cell& cell : cells) add("td", cell);
    html_ += "</tr>\n";
  }
  std::string html() const { return "<div class=\"table\"><table>\n" + html_ + "</table></div>\n"; }

 private:
  void add(const char* tag, const Cell& cell) {
    const char* kind = cell.kind == Cell::number    ? " class=\"number\""
                       : cell.kind == Cell::wrapped ? " class=\"wrap\""
                                                    : "";
    html_ += fmt::format("<{}{}>{}</{}>", tag, kind, cell.html, tag);
  }
  std::string html_;
};

Cell number_cell(std::string text) { return {html_text(text), Cell::number}; }
Cell named(const RunGroup& group, size_t number) { return {swatch(number) + html_text(group.label), Cell::wrapped}; }

std::string count_text(double value) { return std::isnan(value) ? "-" : human_count(value); }
std::string duration_text(double seconds) { return std::isnan(seconds) ? "-" : human_duration(seconds); }

// Returns the mean and range over the group's runs, "4.91 (4.8 to 4.95)".
template <class Value, class Text>
Cell statistics_cell(const RunGroup& group, const Value& value, const Text& text) {
  std::vector<double> values;
  for (const RunRecord* run : group.runs) values.push_back(value(*run));
  const Statistics all = statistics_of(values);
  if (all.count < 2 || all.low == all.high) return number_cell(text(all.mean()));
  return {html_text(text(all.mean())) + " <small>" + html_text(text(all.low) + " to " + text(all.high)) + "</small>",
          Cell::number};
}

auto last_of(const char* column) {
  return [column](const RunRecord& run) { return run.metrics.last(column); };
}

double speed_of(const RunRecord& run) { return mean_of({run.task, "", {&run}}, "steps_per_second"); }

std::string state_text(const RunRecord& run) {
  std::string text = run.status.empty() ? "unknown" : run.status;
  if (run.status == "running" && !run.updated.empty()) text += " (as of " + run.updated + ")";
  return text + (run.starts > 1 ? ", " + counted(run.starts, "start") : "");
}

std::string ranks_text(const RunRecord& run) {
  if (run.world_size <= 0) return "-";
  return std::to_string(run.world_size) + (run.hosts > 0 ? " on " + counted(run.hosts, "node") : "");
}

std::string iteration_text(const RunRecord& run) {
  if (run.metrics.iterations.empty()) return "-";
  const std::string target = run.option("max_iterations");
  return std::to_string(run.metrics.iterations.back()) + (target.empty() ? "" : " of " + target);
}

std::string best_text(const RunRecord& run) {
  if (!run.best) return "-";
  return human_number(run.best->score) + " at " + std::to_string(run.best->iteration) + ", " + run.best->kind;
}

bool has_energy(const RunRecord& run) { return !std::isnan(run.gpu_joules); }

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string bar(const std::vector<double>& parts, double whole) {
  std::string html = "<div class=\"bar\">";
  for (size_t k = 0; k < parts.size(); ++k)
    html += fmt::format("<span class=\"c{}\" style=\"width:{:.2f}%\"></span>",
                        k < std::size(kTimeParts) ? kTimeParts[k].color : kRestColor, 100 * parts[k] / whole);
  return html + "</div>";
}

}  // namespace

std::string swatch(size_t group) {
  return fmt::format("<span class=\"swatch c{}\" data-group=\"{}\"></span>", group % kColors, group);
}

std::string values_text(std::vector<std::string> values) {
  std::vector<int64_t> numbers;
  for (const std::string& value : values)
    if (const auto number = number_in<int64_t>(value)) numbers.push_back(*number);
  std::ranges::sort(numbers);
  const bool row = numbers.size() == values.size() && numbers.size() > 2 &&
                   numbers.back() - numbers.front() == static_cast<int64_t>(numbers.size()) - 1 &&
                   std::ranges::adjacent_find(numbers) == numbers.end();
  if (row) return std::to_string(numbers.front()) + " to " + std::to_string(numbers.back());
  const size_t all = values.size();
  if (all > kValuesShown) values.resize(kValuesShown);
  return join(values, ", ") + (all > kValuesShown ? ", ... (" + std::to_string(all) + ")" : "");
}

std::string group_table(std::span<const RunGroup> groups, size_t first) {
  Table table({{"runs (all seeds)"},
               {"last mean reward", Cell::number},
               {"episode length", Cell::number},
               {"runs", Cell::number},
               {"seeds"},
               {"env steps", Cell::number},
               {"steps/s", Cell::number},
               {"time", Cell::number}});
  for (const RunGroup& group : groups)
    table.row({named(group, first++),
               statistics_cell(group, last_of("mean_reward"), human_number),
               statistics_cell(group, last_of("mean_episode_length"), human_number),
               number_cell(std::to_string(group.runs.size())),
               {html_text(values_text(group.values("seed")))},
               statistics_cell(group, last_of("env_steps"), count_text),
               statistics_cell(group, speed_of, count_text),
               statistics_cell(
                   group, [](const RunRecord& run) { return run.elapsed_seconds; }, duration_text)});
  return table.html();
}

std::string time_table(std::span<const RunGroup> groups, size_t first) {
  std::vector<Cell> heads = {{"mean per iteration"}, {"", Cell::text}, {"total", Cell::number}};
  for (const TimePart& part : kTimeParts)
    heads.push_back({fmt::format("<span class=\"swatch c{}\"></span>{}", part.color, part.name), Cell::number});
  heads.push_back({fmt::format("<span class=\"swatch c{}\"></span>rest", kRestColor), Cell::number});
  Table table(heads);
  bool any = false;
  for (const RunGroup& group : groups) {
    std::vector<double> parts;
    double sum = 0;
    for (const TimePart& part : kTimeParts) {
      const double seconds = mean_of(group, part.column);
      parts.push_back(std::isnan(seconds) ? 0 : std::max(seconds, 0.0));
      sum += parts.back();
    }
    const double iteration = mean_of(group, "iteration_time");
    const double whole = std::isnan(iteration) ? sum : std::max(iteration, sum);
    parts.push_back(whole - sum);
    const Cell name = {swatch(first++) + html_text(group.label), Cell::wrapped};
    if (!(whole > 0)) continue;
    any = true;
    std::vector<Cell> cells = {name, {bar(parts, whole)}, number_cell(human_time(whole))};
    for (double part : parts)
      cells.push_back({human_time(part) + fmt::format(" <small>{:.1f} %</small>", 100 * part / whole), Cell::number});
    table.row(cells);
  }
  return any ? table.html() : "";
}

std::string run_table(std::span<const RunGroup> groups, size_t first) {
  const bool with_energy = std::ranges::any_of(groups, [](const RunGroup& group) {
    return std::ranges::any_of(group.runs, [](const RunRecord* run) { return has_energy(*run); });
  });
  std::vector<Cell> heads = {{"run"},
                             {"seed", Cell::number},
                             {"state"},
                             {"iteration", Cell::number},
                             {"env steps", Cell::number},
                             {"mean reward", Cell::number},
                             {"length", Cell::number},
                             {"best checkpoint"},
                             {"steps/s", Cell::number},
                             {"time", Cell::number},
                             {"ranks", Cell::number},
                             {"node-hours", Cell::number}};
  if (with_energy) heads.insert(heads.end(), {{"GPU energy", Cell::number}, {"J per M steps", Cell::number}});
  heads.insert(heads.end(), {{"device"}, {"directory"}});
  Table table(heads);
  for (const RunGroup& group : groups) {
    for (const RunRecord* run : group.runs) {
      std::vector<Cell> cells = {
          {fmt::format("<span class=\"swatch c{}\"></span>", first % kColors) + html_text(run->name)},
          number_cell(or_dash(run->option("seed"))),
          {html_text(state_text(*run))},
          number_cell(iteration_text(*run)),
          number_cell(count_text(run->metrics.last("env_steps"))),
          number_cell(human_number(run->metrics.last("mean_reward"))),
          number_cell(human_number(run->metrics.last("mean_episode_length"))),
          {html_text(best_text(*run)), Cell::wrapped},
          number_cell(count_text(speed_of(*run))),
          number_cell(duration_text(run->elapsed_seconds)),
          number_cell(ranks_text(*run)),
          number_cell(human_number(run->node_hours))};
      if (with_energy) {
        cells.push_back(number_cell(human_energy(run->gpu_joules)));
        cells.push_back(number_cell(human_number(run->joules_per_million_steps)));
      }
      cells.push_back({html_text(or_dash(run->devices)), Cell::wrapped});
      cells.push_back({html_text(run->path.string()), Cell::wrapped});
      table.row(cells);
    }
    ++first;
  }
  return table.html();
}

std::string option_table(std::span<const RunGroup> groups, size_t first) {
  const std::vector<std::string> names = differing_options(groups);
  if (names.empty()) return "";
  std::vector<Cell> heads = {{"runs"}};
  for (const std::string& name : names) heads.push_back({html_text(name)});
  Table table(heads);
  for (const RunGroup& group : groups) {
    std::vector<Cell> cells = {named(group, first++)};
    for (const std::string& name : names) cells.push_back({html_text(values_text(group.values(name))), Cell::wrapped});
    table.row(cells);
  }
  return table.html();
}

}  // namespace drl

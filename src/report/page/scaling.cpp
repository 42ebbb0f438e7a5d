#include "report/page/scaling.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/format.hpp"
#include "report/page/html.hpp"

namespace drl {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

double kilowatt_hours(const ScalingStudy& study, const ScalingPoint& point) {
  return point.joules_per_million_steps * study.goal_steps / 1e6 / kJoulesPerKwh;
}

bool knows_energy(const ScalingStudy& study) {
  return std::ranges::any_of(study.weak, [](const ScalingPoint& p) { return !std::isnan(p.joules_per_million_steps); });
}

// Calls row(name of the study, its points, index) for each point.
template <class Row>
void for_each_point(const ScalingStudy& study, const Row& row) {
  for (const auto& [name, points] : {std::pair{"weak", &study.weak}, {"strong", &study.strong}})
    for (size_t k = 0; k < points->size(); ++k) row(name, *points, k);
}

}  // namespace

double speed_up(const std::vector<ScalingPoint>& points, size_t k) {
  return points[k].steps_per_second / points[0].steps_per_second;
}

double efficiency(const std::vector<ScalingPoint>& points, size_t k) {
  return speed_up(points, k) * points[0].units / points[k].units;
}

double hours(const ScalingStudy& study, const ScalingPoint& point) {
  return study.goal_steps / point.steps_per_second / 3600 * point.ranks * study.per_rank;
}

std::string scaling_markdown(const ScalingStudy& study) {
  const bool energy = knows_energy(study), of_nodes = study.unit != "rank";
  std::vector<std::string> header = {
      "study",
      study.unit + "s",
      "environments",
      "steps/s",
      "speed-up",
      "efficiency",
      "waiting",
      fmt::format("{}-hours for {} steps", study.hours_of, with_commas(std::llround(study.goal_steps)))};
  if (of_nodes) header.insert(header.begin() + 2, "ranks");
  if (energy) header.push_back("kWh of GPUs");
  const auto row = [](const std::vector<std::string>& cells) { return "| " + join(cells, " | ") + " |\n"; };
  std::string text = fmt::format("# Scaling of {}\n\n{}\n\n", study.title, study.method) + row(header) +
                     row(std::vector<std::string>(header.size(), "---"));
  for_each_point(study, [&](const char* name, const std::vector<ScalingPoint>& points, size_t k) {
    const ScalingPoint& p = points[k];
    std::vector<std::string> cells = {name,
                                      std::to_string(p.units),
                                      with_commas(p.environments),
                                      with_commas(std::llround(p.steps_per_second)),
                                      fmt::format("{:.2f}", speed_up(points, k)),
                                      fmt::format("{:.0f} %", 100 * efficiency(points, k)),
                                      fmt::format("{:.0f} %", 100 * p.waiting),
                                      human_number(hours(study, p))};
    if (of_nodes) cells.insert(cells.begin() + 2, std::to_string(p.ranks));
    if (energy) cells.push_back(human_number(kilowatt_hours(study, p)));
    text += row(cells);
  });
  return text +
         "\nWeak: each rank has the same number of environments. Strong: all ranks together have that of the first "
         "line.\nWaiting is rank 0's share of the time in all-reduces.\n";
}

std::string scaling_csv(const ScalingStudy& study) {
  std::string text =
      fmt::format("study,{}s,ranks,environments,steps_per_second,speed_up,efficiency,waiting,{}_hours,kwh\n",
                  study.unit, study.hours_of == "GPU" ? "gpu" : "core");
  for_each_point(study, [&](const char* name, const std::vector<ScalingPoint>& points, size_t k) {
    const ScalingPoint& p = points[k];
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{}\n", name, p.units, p.ranks, p.environments, p.steps_per_second,
                    speed_up(points, k), efficiency(points, k), p.waiting, hours(study, p), kilowatt_hours(study, p));
  });
  return text;
}

std::string scaling_svg(const ScalingStudy& study) {
  constexpr double width = 520, height = 380, left = 60, right = 500, top = 30, bottom = 330;
  double most = 2;
  for_each_point(study, [&](const char*, const std::vector<ScalingPoint>& points, size_t k) {
    most = std::max({most, 1.0 * points[k].units, speed_up(points, k)});
  });
  const auto x = [&](double units) { return left + std::log2(units) / std::log2(most) * (right - left); };
  const auto y = [&](double times) {
    return bottom - std::clamp(std::log2(times) / std::log2(most), -0.05, 1.0) * (bottom - top);
  };
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"18\" font-weight=\"bold\">{3}</text>\n",
      width, height, left, html_text(study.title));
  for (double mark = 1; mark <= most; mark *= 2)
    text += fmt::format(
        "<path d=\"M{0:.1f} {2} V{3} M{4} {1:.1f} H{5}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{6}\" text-anchor=\"middle\">{7}</text>\n"
        "<text x=\"{8}\" y=\"{9:.1f}\" text-anchor=\"end\">{7}</text>\n",
        x(mark), y(mark), top, bottom, left, right, bottom + 18, mark, left - 8, y(mark) + 4);
  text += fmt::format(
      "<text x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}s</text>\n"
      "<text transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">speed-up</text>\n"
      "<path d=\"M{} {} L{} {}\" stroke=\"#888\" stroke-dasharray=\"5 4\"/>\n",
      (left + right) / 2, bottom + 38, study.unit, (top + bottom) / 2, x(1), y(1), x(most), y(most));
  double legend = top + 14;
  const auto draw = [&](const std::vector<ScalingPoint>& points, const char* name, const char* color) {
    if (points.empty()) return;
    std::string line, dots;
    for (size_t k = 0; k < points.size(); ++k) {
      const double at = x(points[k].units), up = y(speed_up(points, k));
      line += fmt::format("{}{:.1f} {:.1f}", k == 0 ? "M" : " L", at, up);
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", at, up, color);
    }
    text += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n{}", line, color, dots);
    text +=
        fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}: {:.0f} % efficient at {}</text>\n", left + 14, legend,
                    color, name, 100 * efficiency(points, points.size() - 1), counted(points.back().units, study.unit));
    legend += 18;
  };
  draw(study.weak, "weak", "#0b6e99"), draw(study.strong, "strong", "#c4500b");
  return text + "</svg>\n";
}

}  // namespace drl

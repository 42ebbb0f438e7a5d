#include "report/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

using Lines = std::vector<std::string>;

constexpr double kRedrawInterval = 0.1, kLineInterval = 1.0;  // seconds

std::string iteration_of(const IterationMetrics& m) {
  const std::string target = std::to_string(m.max_iterations);
  return fmt::format("{:>{}}/{}", m.iteration, target.size(), target);
}

// Returns "[####----]  50%", `width` columns wide.
std::string progress_bar(const IterationMetrics& m, int width) {
  const double target = static_cast<double>(std::max<int64_t>(m.max_iterations, 1));
  const double done = std::clamp(static_cast<double>(m.iteration) / target, 0.0, 1.0);
  const size_t length = static_cast<size_t>(std::max(width - 7, 0));
  const size_t filled = static_cast<size_t>(done * static_cast<double>(length));
  return fmt::format("[{:#<{}}{:-<{}}]{:4}%", "", filled, "", length - filled, static_cast<int>(done * 100));
}

std::string field(const std::string& label, const std::string& value) {
  return fmt::format("{:<20}{:>12}", label, value);
}

bool is_time(const Metric& m) {
  return m.section != Section::learning && (m.format == Format::seconds || m.format == Format::duration);
}

// Returns the part of a label behind its last slash, shortened to fit in a field.
std::string short_label(const std::string& label) {
  constexpr size_t kWidest = 19;
  const std::string name = label.substr(label.rfind('/') + 1);  // npos + 1 is 0
  return name.size() > kWidest ? name.substr(0, kWidest - 1) + "~" : name;
}

constexpr int kTwoColumns = 2 + 32 + 5 + 32;  // the width of two fields beside each other

// Lays the metrics out in two columns with times on the right. Other metrics follow in both columns after the last
// time, and then those that the task defines. A narrow terminal gets one column.
Lines live_block(const IterationMetrics& m, double eta, int width) {
  Lines others = {field("ETA", human_duration(eta))}, times;
  for (const Metric& metric : m.metrics)
    if (!metric.label.empty() && metric.section != Section::terms)
      (is_time(metric) ? times : others).push_back(field(metric.label, value_text(metric)));
  if (!times.empty()) std::rotate(times.begin(), times.end() - 1, times.end());  // elapsed time beside the ETA
  times.insert(times.begin() + !times.empty(), field("Total steps", human_count(static_cast<double>(m.env_steps))));
  Lines fields;
  for (size_t other = 0, time = 0; other < others.size() || time < times.size();) {
    const bool takes_time = time < times.size() && (fields.size() % 2 == 1 || other == others.size());
    fields.push_back(takes_time ? times[time++] : others[other++]);
  }
  if (fields.size() % 2 != 0) fields.emplace_back();
  for (const Metric& metric : m.metrics)
    if (metric.section == Section::terms && !metric.label.empty())
      fields.push_back(field(short_label(metric.label), value_text(metric)));
  if (fields.size() % 2 != 0) fields.emplace_back();
  const std::string title = "Learning iteration " + iteration_of(m) + "  ";
  Lines lines = {title + progress_bar(m, width - static_cast<int>(title.size()))};
  if (width < kTwoColumns) {
    for (const std::string& one : fields)
      if (!one.empty()) lines.push_back("  " + one);
    return lines;
  }
  for (size_t i = 0; i < fields.size(); i += 2) lines.push_back(fmt::format("  {}     {}", fields[i], fields[i + 1]));
  return lines;
}

std::string plain_line(const IterationMetrics& m, double eta) {
  std::string line = "iteration " + iteration_of(m);
  for (Section section : {Section::episodes, Section::speed, Section::learning, Section::terms, Section::time})
    for (const Metric& metric : m.metrics)
      if (metric.section == section && !metric.brief.empty()) {
        const std::string value = value_text(metric);
        line += "  " + fmt::vformat(metric.brief, fmt::make_format_args(value));
      }
  return line + "  ETA " + human_duration(eta);
}

std::string block_row(const std::string& label, const std::string& value) {
  return fmt::format("{:>38}: {}", label, value);
}

// Returns "Mean value loss" for "Value loss", and "Mean RND loss" for "RND loss".
std::string mean_of(std::string label) {
  if (label.size() > 1 && std::islower(label[1]) != 0) label[0] = static_cast<char>(std::tolower(label[0]));
  return "Mean " + label;
}

Lines final_block(const IterationMetrics& m, double eta) {
  const std::string title = "Learning iteration " + iteration_of(m);
  Lines lines = {std::string(80, '#'), std::string((80 - std::min<size_t>(80, title.size())) / 2, ' ') + title, "",
                 block_row("Total steps", std::to_string(m.env_steps))};
  const auto add = [&](Section section) {
    for (const Metric& metric : m.metrics)
      if (metric.section == section && metric.at_end)
        lines.push_back(
            block_row(section == Section::learning ? mean_of(metric.label) : metric.label, value_text(metric)));
  };
  for (Section section : {Section::speed, Section::learning, Section::episodes, Section::terms}) add(section);
  lines.emplace_back(80, '-');
  add(Section::time);
  lines.push_back(block_row("ETA", human_duration(eta)));
  return lines;
}

}  // namespace

TerminalSize terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

Console::Console(std::ostream& out, ConsoleMode mode, std::function<double()> clock, std::function<TerminalSize()> size)
    : out_(out), mode_(mode), clock_(std::move(clock)), size_(std::move(size)) {}

void Console::update(const IterationMetrics& metrics) {
  if (mode_ == ConsoleMode::quiet) return;
  const double now = clock_();
  if (!latest_) {
    first_time_ = now - metrics.value("iteration_time");
    first_iteration_ = metrics.iteration - 1;
  }
  latest_ = metrics;
  latest_time_ = now;
  if (now - shown_time_ < (mode_ == ConsoleMode::live ? kRedrawInterval : kLineInterval)) return;
  shown_time_ = now;
  if (mode_ == ConsoleMode::live) {
    draw();
  } else {
    out_ << plain_line(metrics, eta()) + "\n" << std::flush;
  }
}

void Console::message(std::string_view text) {
  if (mode_ == ConsoleMode::quiet) return;
  const bool has_block = drawn_lines_ > 0;
  out_ << erased() << text << "\n" << std::flush;
  drawn_lines_ = 0;
  if (has_block) draw();
}

void Console::finish() {
  if (!latest_) return;
  std::string text = erased();
  for (const std::string& line : final_block(*latest_, eta())) text += line + "\n";
  out_ << text << std::flush;
  drawn_lines_ = 0;
  latest_.reset();
}

// Redraws the live block with one write, so that it never appears half drawn. It is cut to the terminal's size, because
// wrapped lines or lines beyond the screen would invalidate the number of lines to move up.
void Console::draw() {
  const TerminalSize size = size_();
  Lines lines = live_block(*latest_, eta(), size.columns - 1);
  lines.resize(std::min(lines.size(), static_cast<size_t>(std::max(size.rows - 1, 1))));
  std::string text = drawn_lines_ > 0 ? "\x1b[" + std::to_string(drawn_lines_) + "A" : "";
  for (const std::string& line : lines) {
    text += "\r" + line.substr(0, static_cast<size_t>(std::max(size.columns - 1, 1))) + "\x1b[K\n";
  }
  out_ << text + "\x1b[J" << std::flush;
  drawn_lines_ = lines.size();
}

// Returns the escape sequence that moves to the start of the live block and clears the screen from there.
std::string Console::erased() const {
  return drawn_lines_ > 0 ? "\x1b[" + std::to_string(drawn_lines_) + "A\r\x1b[J" : "";
}

// Returns the seconds left at this process's mean pace, which includes saves and evaluations between iterations.
double Console::eta() const {
  const double pace = (latest_time_ - first_time_) / static_cast<double>(latest_->iteration - first_iteration_);
  return pace * static_cast<double>(std::max<int64_t>(latest_->max_iterations - latest_->iteration, 0));
}

}  // namespace drl

#include "report/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

using Lines = std::vector<std::string>;

constexpr double kRedrawInterval = 0.1, kLineInterval = 1.0;  // seconds

std::string left(std::string text, size_t width) { return text.append(width - std::min(width, text.size()), ' '); }
std::string right(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string iteration_of(const IterationMetrics& m) {
  const std::string target = std::to_string(m.max_iterations);
  return right(std::to_string(m.iteration), target.size()) + "/" + target;
}

// "[####----]  50%", `width` columns in all.
std::string progress_bar(const IterationMetrics& m, int width) {
  const double target = static_cast<double>(std::max<int64_t>(m.max_iterations, 1));
  const double done = std::clamp(static_cast<double>(m.iteration) / target, 0.0, 1.0);
  const size_t length = static_cast<size_t>(std::max(width - 7, 0));
  const size_t filled = static_cast<size_t>(done * static_cast<double>(length));
  const int percent = static_cast<int>(done * 100);
  return "[" + std::string(filled, '#') + std::string(length - filled, '-') + "]" + right(std::to_string(percent), 4) +
         "%";
}

std::string field(const std::string& label, const std::string& value) { return left(label, 20) + right(value, 12); }
std::string two_fields(const std::string& first, const std::string& second) { return "  " + first + "     " + second; }

Lines live_block(const IterationMetrics& m, double eta, int width) {
  const std::string title = "Learning iteration " + iteration_of(m) + "  ";
  return {
      title + progress_bar(m, width - static_cast<int>(title.size())),
      two_fields(field("ETA", human_duration(eta)), field("Time elapsed", human_duration(m.elapsed_time))),
      two_fields(field("Steps per second", human_count(m.steps_per_second)),
                 field("Total steps", human_count(static_cast<double>(m.env_steps)))),
      two_fields(field("Mean reward", human_number(m.mean_reward)),
                 field("Collection time", human_time(m.collection_time))),
      two_fields(field("Mean episode length", human_number(m.mean_episode_length)),
                 field("Learning time", human_time(m.learning_time))),
      two_fields(field("Value loss", human_number(m.value_loss)), field("Waiting time", human_time(m.waiting_time))),
      two_fields(field("Surrogate loss", human_number(m.surrogate_loss)),
                 field("Iteration time", human_time(m.iteration_time))),
      two_fields(field("Entropy", human_number(m.entropy)), field("KL", human_number(m.kl))),
      two_fields(field("Action std", human_number(m.action_std)),
                 field("Learning rate", human_number(m.learning_rate))),
      two_fields(field("Explained variance", human_number(m.explained_variance)),
                 field("Gradient norm", human_number(m.gradient_norm))),
  };
}

std::string plain_line(const IterationMetrics& m, double eta) {
  return "iteration " + iteration_of(m) + "  reward " + right(human_number(m.mean_reward), 7) + "  length " +
         right(human_number(m.mean_episode_length), 6) + "  " + right(human_count(m.steps_per_second), 6) +
         " steps/s  kl " + right(human_number(m.kl), 9) + "  lr " + right(human_number(m.learning_rate), 9) + "  ETA " +
         human_duration(eta);
}

std::string block_row(const std::string& label, const std::string& value) { return right(label, 38) + ": " + value; }

Lines final_block(const IterationMetrics& m, double eta) {
  const std::string title = "Learning iteration " + iteration_of(m);
  Lines lines = {
      std::string(80, '#'),
      std::string((80 - std::min<size_t>(80, title.size())) / 2, ' ') + title,
      "",
      block_row("Total steps", std::to_string(m.env_steps)),
      block_row("Steps per second", human_count(m.steps_per_second)),
      block_row("Collection time", human_time(m.collection_time)),
      block_row("Learning time", human_time(m.learning_time)),
      block_row("Waiting time", human_time(m.waiting_time)),
      block_row("Mean value loss", human_number(m.value_loss)),
      block_row("Mean surrogate loss", human_number(m.surrogate_loss)),
      block_row("Mean entropy", human_number(m.entropy)),
      block_row("Mean reward", human_number(m.mean_reward)),
      block_row("Mean episode length", human_number(m.mean_episode_length)),
      block_row("Mean action std", human_number(m.action_std)),
  };
  for (const auto& [term, value] : m.reward_terms) lines.push_back(block_row("Episode/" + term, human_number(value)));
  lines.insert(lines.end(),
               {std::string(80, '-'), block_row("Iteration time", human_time(m.iteration_time)),
                block_row("Time elapsed", human_duration(m.elapsed_time)), block_row("ETA", human_duration(eta))});
  return lines;
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
    first_time_ = now - metrics.iteration_time;
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

// One write, so that no half-drawn block is seen. Lines are cut to the terminal: a wrapped line, or more lines than the
// screen has, would make "n lines up" another place.
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

// Moves to where the live block begins and clears the screen from there.
std::string Console::erased() const {
  return drawn_lines_ > 0 ? "\x1b[" + std::to_string(drawn_lines_) + "A\r\x1b[J" : "";
}

// Seconds, by this process's mean pace, with everything between the iterations (saves, evaluations) in it.
double Console::eta() const {
  const double pace = (latest_time_ - first_time_) / static_cast<double>(latest_->iteration - first_iteration_);
  return pace * static_cast<double>(std::max<int64_t>(latest_->max_iterations - latest_->iteration, 0));
}

}  // namespace drl

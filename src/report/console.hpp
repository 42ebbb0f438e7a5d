// Shows the progress of a run in a terminal or a log file.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "report/metrics.hpp"

namespace drl {

enum class ConsoleMode {
  live,   // for terminals: a block that is redrawn in place, at most ten times a second
  lines,  // for files: one line, at most every second
  quiet   // prints nothing
};

struct TerminalSize {
  int columns = 80, rows = 24;
};

// Returns the size of the terminal at standard output, 80 x 24 if that is not a terminal.
TerminalSize terminal_size();

// Not thread-safe. All other output to the same terminal must go through message().
class Console {
 public:
  // `out` must outlive the console. `clock` returns seconds.
  Console(std::ostream& out, ConsoleMode mode, std::function<double()> clock = steady_seconds,
          std::function<TerminalSize()> size = terminal_size);

  // Takes the metrics of a finished iteration and shows them, unless the last update was too recent (ConsoleMode).
  void update(const IterationMetrics& metrics);
  // Prints a line at once, above the live block.
  void message(std::string_view text);
  // Ends the live view and prints the full block of the last iteration (rsl_rl's block and the waiting time). Prints
  // nothing if there was no iteration.
  void finish();

 private:
  void draw();
  std::string erased() const;
  double eta() const;

  std::ostream& out_;
  ConsoleMode mode_;
  std::function<double()> clock_;
  std::function<TerminalSize()> size_;
  std::optional<IterationMetrics> latest_;
  double latest_time_ = 0;                                        // when update() received it
  double first_time_ = 0;                                         // when the first reported iteration began
  int64_t first_iteration_ = 0;                                   // iterations that were finished then
  double shown_time_ = -std::numeric_limits<double>::infinity();  // time of the last redraw or line
  size_t drawn_lines_ = 0;                                        // lines of the live block, above the cursor
};

}  // namespace drl

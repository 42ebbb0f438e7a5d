// What a person sees of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "report/metrics.hpp"

namespace drl {

enum class ConsoleMode {
  live,   // a terminal: a block that is redrawn in its place, at most ten times a second
  lines,  // a file: one line at most every second
  quiet   // nothing at all
};

struct TerminalSize {
  int columns = 80, rows = 24;
};

// Of standard output; 80 x 24 where it is no terminal.
TerminalSize terminal_size();

// Call from one thread. Whatever else prints to the same terminal must go through message().
class Console {
 public:
  // `out` must outlive the console. `clock` tells seconds.
  Console(std::ostream& out, ConsoleMode mode, std::function<double()> clock = steady_seconds,
          std::function<TerminalSize()> size = terminal_size);

  // Takes the numbers of a finished iteration and shows them unless others were shown just before.
  void update(const IterationMetrics& metrics);
  // Prints a line at once, above the live block.
  void message(std::string_view text);
  // Ends the live view and prints the whole block of the last iteration (rsl_rl's, and waiting time). Nothing if there
  // was no iteration.
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
  double latest_time_ = 0;                                        // when it came
  double first_time_ = 0;                                         // when the first iteration seen began
  int64_t first_iteration_ = 0;                                   // how many were finished then
  double shown_time_ = -std::numeric_limits<double>::infinity();  // of the last redraw or line
  size_t drawn_lines_ = 0;                                        // of the live block, above the cursor
};

}  // namespace drl

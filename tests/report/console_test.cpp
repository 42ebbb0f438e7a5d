#include "report/console.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace drl {
namespace {

// A minimal terminal for Console: printable characters, which wrap and scroll; \n (with the carriage return that a tty
// adds), \r, cursor up (A), clear to the end of the line (K) and of the screen (J). Anything else fails the test.
class Screen {
 public:
  Screen(size_t columns, size_t rows) : columns_(columns), lines_(rows, std::string(columns, ' ')) {}

  void write(const std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1b') {
        i = escape(text, i + 1);
      } else if (text[i] == '\n') {
        new_line();
      } else if (text[i] == '\r') {
        column_ = 0;
      } else {
        put(text[i]);
      }
    }
  }

  // Returns a line without trailing spaces.
  std::string line(size_t row) const {
    const std::string& text = lines_.at(row);
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }
  size_t count(const std::string& part) const {
    size_t n = 0;
    for (const std::string& line : lines_) n += line.find(part) != std::string::npos;
    return n;
  }
  size_t row_of(const std::string& part) const {
    for (size_t row = 0; row < lines_.size(); ++row) {
      if (lines_[row].find(part) != std::string::npos) return row;
    }
    ADD_FAILURE() << "no '" << part << "' on the screen";
    return 0;
  }
  size_t cursor_row() const { return row_; }
  size_t scrolled() const { return scrolled_; }

 private:
  size_t escape(const std::string& text, size_t i) {
    size_t number = 0;
    for (++i; std::isdigit(text.at(i)); ++i) number = 10 * number + static_cast<size_t>(text[i] - '0');
    EXPECT_TRUE(number == 0 || text[i] == 'A') << "ESC[" << number << text[i] << " clears more than the rest";
    switch (text[i]) {
      case 'A':
        row_ -= std::min(row_, std::max<size_t>(number, 1));
        break;
      case 'J':
        for (size_t row = row_ + 1; row < lines_.size(); ++row) lines_[row].assign(columns_, ' ');
        [[fallthrough]];
      case 'K':
        lines_[row_].replace(column_, std::string::npos, columns_ - column_, ' ');
        break;
      default:
        ADD_FAILURE() << "unknown sequence " << text[i];
    }
    return i;
  }
  void new_line() {
    column_ = 0;
    if (++row_ < lines_.size()) return;
    row_ = lines_.size() - 1;
    lines_.erase(lines_.begin());
    lines_.emplace_back(columns_, ' ');
    ++scrolled_;
  }
  void put(char c) {
    if (column_ == columns_) new_line();
    lines_[row_][column_++] = c;
  }

  size_t columns_, row_ = 0, column_ = 0, scrolled_ = 0;
  std::vector<std::string> lines_;
};

// Metrics like those of the training loop, an algorithm and a task.
IterationMetrics metrics_of(int64_t iteration, int64_t target = 150, double reward = 3.21, double length = 210) {
  return {iteration,
          target,
          131072 * iteration,
          {{"", "Steps per second", "", 1.2e6, true, "{:>6} steps/s", Format::count, Section::speed},
           {"", "Mean reward", "", reward, true, "reward {:>7}", Format::number, Section::episodes},
           {"", "Mean episode length", "", length, true, "length {:>6}", Format::number, Section::episodes},
           {"", "", "", 3},
           {"", "Value loss", "", 0.0123, true},
           {"", "Surrogate loss", "", 0, true},
           {"", "Entropy", "", 0, true},
           {"", "KL", "", 0.011, false, "kl {:>9}"},
           {"", "Update time", "", 0.25, false, "", Format::seconds},
           {"", "Learning rate", "", 1e-3, false, "lr {:>9}"},
           {"", "Action std", "", std::nan(""), true},
           {"", "Collection time", "", 0.0042, true, "", Format::seconds, Section::speed},
           {"", "Learning time", "", 0.0351, true, "", Format::seconds, Section::speed},
           {"", "Waiting time", "", 0.0003, true, "", Format::seconds, Section::speed},
           {"iteration_time", "Iteration time", "", 0.5, true, "", Format::seconds, Section::time},
           {"", "Time elapsed", "", 60, true, "", Format::duration, Section::time},
           {"", "Episode/alive", "", 0.5, true, "", Format::number, Section::terms}}};
}

// A console that writes to a Screen, with a clock that the test sets.
struct Rig {
  Rig(ConsoleMode mode, int columns = 80, int rows = 24)
      : screen(static_cast<size_t>(columns), static_cast<size_t>(rows)),
        console(
            out, mode, [this] { return time; },
            [=] {
              return TerminalSize{columns, rows};
            }) {}

  void update_at(double seconds, const IterationMetrics& metrics) {
    time = seconds;
    console.update(metrics);
    show();
  }
  void show() {
    screen.write(out.str());
    written += out.str();
    out.str("");
  }

  double time = 0;
  std::ostringstream out;
  std::string written;
  Screen screen;
  Console console;
};

TEST(LiveConsole, RedrawsInPlace) {
  Rig rig(ConsoleMode::live);
  rig.screen.write("$ drl_train --task Cartpole\n");
  for (int i = 1; i <= 100; ++i) rig.update_at(i, metrics_of(i));
  EXPECT_EQ(rig.screen.line(0), "$ drl_train --task Cartpole");
  EXPECT_EQ(rig.screen.scrolled(), 0u);
  EXPECT_EQ(rig.screen.count("Learning iteration"), 1u);
  EXPECT_EQ(rig.screen.row_of("Learning iteration 100/150"), 1u);
  EXPECT_EQ(rig.screen.count("Mean reward"), 1u);
  EXPECT_EQ(rig.screen.count("  alive "), 1u);
  EXPECT_EQ(rig.screen.cursor_row(), 12u);  // below eleven lines
  EXPECT_EQ(rig.screen.line(12), "");
}

TEST(LiveConsole, ShowsTheNumbers) {
  Rig rig(ConsoleMode::live);
  rig.update_at(10, metrics_of(75));
  EXPECT_EQ(rig.screen.line(0).substr(0, 28), "Learning iteration  75/150  ");
  EXPECT_EQ(rig.screen.line(0).substr(rig.screen.line(0).size() - 6), "]  50%");
  EXPECT_EQ(rig.screen.line(0).size(), 79u);
  EXPECT_EQ(rig.screen.line(1),
            "  ETA                      0:00:38     Time elapsed             0:01:00");  // 75 * 0.5 s
  EXPECT_EQ(rig.screen.line(2), "  Steps per second          1.20 M     Total steps               9.83 M");
  EXPECT_EQ(rig.screen.line(3), "  Mean reward                 3.21     Collection time           4.2 ms");
  EXPECT_EQ(rig.screen.count("Waiting time              0.3 ms"), 1u);
  EXPECT_EQ(rig.screen.count("Action std                     -"), 1u);
  EXPECT_EQ(rig.screen.count("Learning rate              0.001"), 1u);
}

TEST(LiveConsole, ScrollsOnlyForTheFirstBlock) {
  Rig rig(ConsoleMode::live);
  for (int i = 0; i < 22; ++i) rig.screen.write("before\n");
  for (int i = 1; i <= 100; ++i) rig.update_at(i, metrics_of(i));
  EXPECT_EQ(rig.screen.scrolled(), 10u);  // 22 lines + 11 lines of the block + the cursor's line - 24 rows
  EXPECT_EQ(rig.screen.count("before"), 12u);
  EXPECT_EQ(rig.screen.count("Learning iteration"), 1u);
}

TEST(LiveConsole, FitsSmallTerminals) {
  for (const auto& [columns, rows] : {std::pair{20, 24}, {40, 24}, {80, 5}, {10, 3}, {200, 50}}) {
    Rig rig(ConsoleMode::live, columns, rows);
    for (int i = 1; i <= 20; ++i) rig.update_at(i, metrics_of(i));
    EXPECT_EQ(rig.screen.scrolled(), 0u) << columns << " x " << rows;
    EXPECT_EQ(rig.screen.count("Learning i"), columns > 10 ? 1u : 0u);
    EXPECT_EQ(rig.screen.line(0).substr(0, 8), "Learning");
  }
}

TEST(LiveConsole, ShowsWholeNumbersInANarrowTerminal) {
  Rig rig(ConsoleMode::live, 60, 24);
  for (int i = 1; i <= 20; ++i) rig.update_at(i, metrics_of(i));
  for (const char* line : {"  Time elapsed             0:01:00", "  Collection time           4.2 ms",
                           "  Mean reward                 3.21", "  alive                        0.5"})
    EXPECT_EQ(rig.screen.count(line), 1u) << line;
  EXPECT_EQ(rig.screen.scrolled(), 0u);
}

TEST(LiveConsole, RedrawsAtMostTenTimesASecond) {
  Rig rig(ConsoleMode::live);
  int redraws = 0;
  for (int i = 1; i <= 1001; ++i) {
    rig.time = (i - 1) * 0.004;  // iterations of 4 ms, for 4 s
    rig.console.update(metrics_of(i));
    redraws += !rig.out.str().empty();
    rig.show();
  }
  EXPECT_LE(redraws, 41);
  EXPECT_GE(redraws, 36);
}

TEST(LiveConsole, PrintsMessagesAboveTheBlock) {
  Rig rig(ConsoleMode::live);
  rig.console.message("starting");
  for (int i = 1; i <= 9; ++i) {
    rig.update_at(i, metrics_of(i));
    if (i % 3 == 0) rig.console.message("saved checkpoint " + std::to_string(i));
    rig.show();
  }
  EXPECT_EQ(rig.screen.line(0), "starting");
  EXPECT_EQ(rig.screen.line(1), "saved checkpoint 3");
  EXPECT_EQ(rig.screen.line(2), "saved checkpoint 6");
  EXPECT_EQ(rig.screen.line(3), "saved checkpoint 9");
  EXPECT_EQ(rig.screen.row_of("Learning iteration   9/150"), 4u);
  EXPECT_EQ(rig.screen.count("Learning iteration"), 1u);
}

TEST(LiveConsole, ReplacesTheLiveBlockByTheFullOneAtTheEnd) {
  Rig rig(ConsoleMode::live);
  rig.update_at(1, metrics_of(149));
  rig.update_at(1.01, metrics_of(150));  // too soon to be drawn, but shown at the end
  rig.console.finish();
  rig.show();
  EXPECT_EQ(rig.screen.line(0), std::string(80, '#'));
  EXPECT_EQ(rig.screen.line(1), std::string(27, ' ') + "Learning iteration 150/150");
  EXPECT_EQ(rig.screen.count("["), 0u);  // no progress bar
  EXPECT_EQ(rig.screen.count("Mean reward"), 1u);
  rig.console.message("done");
  rig.show();
  EXPECT_EQ(rig.screen.count("#####"), 1u);
}

TEST(LiveConsole, ComputesTheEtaFromThisProcessesMeanPace) {
  Rig rig(ConsoleMode::live);
  rig.update_at(100, metrics_of(51));    // resumed at 50, 0.5 s for the first
  rig.update_at(119.5, metrics_of(60));  // 20 s for 10 iterations: 90 more take 180 s
  EXPECT_EQ(rig.screen.line(1).substr(0, 34), "  ETA                      0:03:00");
}

TEST(LinesConsole, PrintsOneLineASecond) {
  Rig rig(ConsoleMode::lines);
  rig.update_at(0, metrics_of(1, 150, std::nan(""), std::nan("")));
  for (int i = 2; i <= 21; ++i) rig.update_at((i - 1) * 0.125, metrics_of(i));  // up to 2.5 s
  EXPECT_EQ(
      rig.written,
      "iteration   1/150  reward       -  length      -  1.20 M steps/s  kl     0.011  lr     0.001  ETA 0:01:15\n"
      "iteration   9/150  reward    3.21  length    210  1.20 M steps/s  kl     0.011  lr     0.001  ETA 0:00:24\n"
      "iteration  17/150  reward    3.21  length    210  1.20 M steps/s  kl     0.011  lr     0.001  ETA 0:00:20\n");
}

TEST(LinesConsole, EndsWithTheFullBlock) {
  Rig rig(ConsoleMode::lines);
  rig.console.message("saved checkpoint");
  rig.console.update(metrics_of(150));
  rig.out.str("");
  rig.console.finish();
  EXPECT_EQ(rig.out.str(),
            "################################################################################\n"
            "                           Learning iteration 150/150\n"
            "\n"
            "                           Total steps: 19660800\n"
            "                      Steps per second: 1.20 M\n"
            "                       Collection time: 4.2 ms\n"
            "                         Learning time: 35.1 ms\n"
            "                          Waiting time: 0.3 ms\n"
            "                       Mean value loss: 0.0123\n"
            "                   Mean surrogate loss: 0\n"
            "                          Mean entropy: 0\n"
            "                       Mean action std: -\n"
            "                           Mean reward: 3.21\n"
            "                   Mean episode length: 210\n"
            "                         Episode/alive: 0.5\n"
            "--------------------------------------------------------------------------------\n"
            "                        Iteration time: 500.0 ms\n"
            "                          Time elapsed: 0:01:00\n"
            "                                   ETA: 0:00:00\n");
}

TEST(QuietConsole, PrintsNothing) {
  Rig rig(ConsoleMode::quiet);
  rig.console.update(metrics_of(1));
  rig.console.message("saved checkpoint");
  rig.console.finish();
  EXPECT_EQ(rig.out.str(), "");
}

}  // namespace
}  // namespace drl

// The results of a sweep: as text, as CSV, and as an HTML page with parallel coordinates.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace drl {

// An option that the sweep varies.
struct SweepAxis {
  std::string name;                       // "ppo.learning_rate"
  bool is_log = false;                    // the scale
  bool is_whole = false;                  // the values are whole numbers
  double low = 0, high = 1;               // its ends
  std::vector<std::string> choices = {};  // if there are any, the values are these instead of numbers
};

struct SweepRow {
  std::string run;     // its name
  int iterations = 0;  // for which the objective is
  double objective = NAN;
  std::vector<std::string> values;  // of the axes
  std::string note = {};            // why the trial has no objective, or ""
};

struct SweepTable {
  std::string title, objective;  // "Ant-v5, lr", "mean_reward"
  std::string facts;             // a sentence: "asha, 64 trials"
  std::vector<SweepAxis> axes = {};
  std::vector<SweepRow> rows = {};  // the best first
};

// Returns the rows, or the first ones, as a table for the terminal.
std::string sweep_text(const SweepTable& table, size_t most);
std::string sweep_csv(const SweepTable& table);
// Returns a page that needs no other file: one line for each trial with an objective across the axes of the options
// and of the objective, and the table.
std::string sweep_page(const SweepTable& table);

}  // namespace drl

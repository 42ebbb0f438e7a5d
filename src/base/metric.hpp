// A number that each iteration reports. Its owner declares it once, for metrics.csv, TensorBoard and the console.
#pragma once

#include <string>

namespace drl {

enum class Format { number, seconds, duration, count };
// The section of the console that shows the metric. `terms` appear only in the summary at the end of a run.
enum class Section { speed, learning, episodes, terms, time };

struct Metric {
  std::string name;        // column of metrics.csv
  std::string label;       // on the console; empty: not shown
  std::string tag;         // in TensorBoard; empty: not written
  double value;            // NaN if there is none
  bool at_end = false;     // also shown in the summary at the end of a run, like rsl_rl's "Mean value loss"
  std::string brief = {};  // its text in ConsoleMode::lines, with {} for the value: "kl {:>9}"; empty: not shown
  Format format = Format::number;
  Section section = Section::learning;
};

}  // namespace drl

// A number that each iteration gives, as its owner declares it: metrics.csv, TensorBoard and console follow from it.
#pragma once

#include <string>

namespace drl {

enum class Format { number, seconds, duration, count };
// Where it stands on the console; `terms` are seen in the block that ends a run only.
enum class Section { speed, learning, episodes, terms, time };

struct Metric {
  std::string name;        // column of metrics.csv
  std::string label;       // on the console; empty: it is not there
  std::string tag;         // in TensorBoard; empty: it is not there
  double value;            // NaN where there is none
  bool at_end = false;     // stands in the block that ends a run too, as rsl_rl's "Mean value loss"
  std::string brief = {};  // where an iteration is one line, {} being the value: "kl {:>9}"; empty: it is not there
  Format format = Format::number;
  Section section = Section::learning;
};

}  // namespace drl

// The results of a scaling study, as an application for computing time shows them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace drl {

// The speed with some of the nodes, or of the ranks of one machine.
struct ScalingPoint {
  int units = 1, ranks = 1;
  int64_t environments = 0;  // on all ranks
  double steps_per_second = NAN;
  double waiting = NAN;                   // share of the time in all-reduces, rank 0's
  double joules_per_million_steps = NAN;  // of GPUs; NaN if unknown
};

struct ScalingStudy {
  std::string title;                 // "HalfCheetah-v5 on 4 nodes (AMD EPYC)"
  std::string unit;                  // "node" or "rank"
  std::string hours_of = "core";     // what is counted in hours: "core" or "GPU"
  double per_rank = 1;               // cores or GPUs of a rank
  double goal_steps = 1e9;           // for the column of hours
  std::string method;                // a sentence: how it was measured
  std::vector<ScalingPoint> weak;    // the number of environments per rank is constant
  std::vector<ScalingPoint> strong;  // the total number is constant
};

// The first point of a study is what the others are compared with: speed-up is the ratio of the speeds, and efficiency
// the speed-up divided by the ratio of the units.
double speed_up(const std::vector<ScalingPoint>& points, size_t k);
double efficiency(const std::vector<ScalingPoint>& points, size_t k);
// Returns the core- or GPU-hours in which the point's ranks take goal_steps.
double hours(const ScalingStudy& study, const ScalingPoint& point);

std::string scaling_markdown(const ScalingStudy& study);
std::string scaling_csv(const ScalingStudy& study);
// Returns a drawing of both studies' speed-ups on logarithmic axes, with the ideal line.
std::string scaling_svg(const ScalingStudy& study);

}  // namespace drl

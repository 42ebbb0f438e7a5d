// The tables of the page, as HTML.
#pragma once

#include <span>
#include <string>

#include "report/page/run_groups.hpp"

namespace drl {

// `first` is the number of the first of these groups among all of the page: it names their colour.

// A row a group: what it is, and the numbers that its runs ended with, mean (smallest to largest).
std::string group_table(std::span<const RunGroup> groups, size_t first);

// Times by part of an iteration, a bar a group. "" if no run has any.
std::string time_table(std::span<const RunGroup> groups, size_t first);

// A row a run.
std::string run_table(std::span<const RunGroup> groups, size_t first);

// The options in which the runs differ, a row a group. "" if there are none.
std::string option_table(std::span<const RunGroup> groups, size_t first);

// A coloured square that stands for a group.
std::string swatch(size_t group);

// "0 to 4" for 0, 1, 2, 3, 4; "1, 3"; of many the first few and how many.
std::string values_text(std::vector<std::string> values);

// A part of the iteration, its column of metrics.csv, and its colour.
struct TimePart {
  const char *column, *name;
  size_t color;
};
inline constexpr TimePart kTimeParts[] = {
    {"collection_time", "collect", 5}, {"learning_time", "learn", 6}, {"waiting_time", "wait", 4}};
inline constexpr size_t kRestColor = 7;

}  // namespace drl

// The tables of the page, as HTML.
#pragma once

#include <span>
#include <string>

#include "report/page/run_groups.hpp"

namespace drl {

// In all functions, `first` is the index of the first group among all groups of the page; it determines the colours.

// Returns a table with one row per group: its label and its runs' last metrics, as mean and range.
std::string group_table(std::span<const RunGroup> groups, size_t first);

// Returns a table with the parts of the time per iteration, with one bar per group; "" if no run has times.
std::string time_table(std::span<const RunGroup> groups, size_t first);

// Returns a table with one row per run.
std::string run_table(std::span<const RunGroup> groups, size_t first);

// Returns a table of the options in which the runs differ, with one row per group; "" if there are none.
std::string option_table(std::span<const RunGroup> groups, size_t first);

// Returns a square in the colour of a group.
std::string swatch(size_t group);

// Returns "0 to 4" for 0, 1, 2, 3, 4, and "1, 3" for 1, 3. Of more than eight values, returns the first eight and the
// total number.
std::string values_text(std::vector<std::string> values);

// A part of the time per iteration: its column in metrics.csv, its name and its colour.
struct TimePart {
  const char *column, *name;
  size_t color;
};
inline constexpr TimePart kTimeParts[] = {
    {"collection_time", "collect", 5}, {"learning_time", "learn", 6}, {"waiting_time", "wait", 4}};
inline constexpr size_t kRestColor = 7;

}  // namespace drl

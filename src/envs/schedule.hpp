// Reads numbers that change with time, for the parameters of tasks that are a Schedule (drl/task/param_types.hpp).
#pragma once

#include <string>
#include <vector>

#include "drl/task/range.hpp"

namespace drl {

struct ScheduleShape {
  int numbers, most_rows;  // a line of the file has the seconds and these numbers
  Range range;             // of the numbers
};

// Returns the rows of a text file: the seconds and the numbers of each line. Spaces, tabs or commas separate them;
// empty lines and what follows a # are ignored. Throws UsageError, with the option and the line, if the file cannot be
// read, if a line has another number of numbers, or if the seconds do not increase from 0 on.
std::vector<std::vector<float>> read_schedule(const std::string& option, const std::string& file,
                                              const ScheduleShape& shape);

}  // namespace drl

// This machine's name and time, and the age of this process.
#pragma once

#include <string>

namespace drl {

std::string host_name();

std::string utc_time();            // now, "2026-01-31T23:59:59Z"
std::string utc_time_for_names();  // now, "2026-01-31_23-59-59"
double seconds_since_1970();       // now

// Returns the age of this process; negative if the system does not report it.
double seconds_since_start();

}  // namespace drl

// This machine's name and time, and the age of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace drl {

std::string host_name();

std::string utc_time();            // now, "2026-01-31T23:59:59Z"
std::string utc_time_for_names();  // now, "2026-01-31_23-59-59"
double seconds_since_1970();       // now

// Returns when a process started, in clock ticks since boot. `stat` is the text of /proc/<pid>/stat. Returns nullopt
// for a zombie or an unreadable text. Pure.
std::optional<int64_t> start_ticks(const std::string& stat);
// Returns the age of this process; negative if the system does not report it.
double seconds_since_start();

}  // namespace drl

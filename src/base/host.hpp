// This machine's name and time, and this process's age.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace drl {

std::string host_name();

std::string utc_time();            // now, "2026-01-31T23:59:59Z"
std::string utc_time_for_names();  // now, "2026-01-31_23-59-59"
double seconds_since_1970();       // now

// When a process started, in ticks since the machine did. Of /proc/<pid>/stat; nullopt for one that only waits to be
// buried, or if there is none. Pure.
std::optional<int64_t> start_ticks(const std::string& stat);
// Since this process started; negative if the system does not tell.
double seconds_since_start();

}  // namespace drl

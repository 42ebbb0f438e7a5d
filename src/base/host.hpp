// This machine's name and time, and the age of this process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace drl {

std::string host_name();

std::string utc_time();            // now, "2026-01-31T23:59:59Z"
std::string utc_time_for_names();  // now, "2026-01-31_23-59-59"
double seconds_since_1970();       // now

// Returns the age of this process; negative if the system does not report it.
double seconds_since_start();

// The state of a process of this machine, from /proc/<pid>/stat (proc(5)).

struct ProcessStat {
  char state = 0;  // R: running, S: sleeping, T: stopped by a signal, t: by a debugger, Z: ended, ...
  pid_t parent = 0;
  std::optional<int64_t> start;  // in clock ticks since boot

  bool is_stopped() const { return state == 'T' || state == 't'; }
  bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// Returns nullopt if `text` is not the content of such a file. Pure.
std::optional<ProcessStat> parse_process_stat(const std::string& text);
// `process` is a number, or "self". Returns nullopt if there is no such process.
std::optional<ProcessStat> process_stat(const std::string& process);

}  // namespace drl

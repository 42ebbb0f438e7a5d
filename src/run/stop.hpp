// Requests to stop: signals, and a file.
#pragma once

namespace drl {

// In the order of precedence, weakest first.
enum class Stop { none, time_limit, to_be_continued, interrupted, terminated };

// What all ranks exit with: 75 (both of the first), 130, 143.
int exit_code_of(Stop stop);
const char* name_of(Stop stop);  // "SIGUSR1 or STOP", ...

// From now on SIGUSR1, SIGINT and SIGTERM (and SIGUSR2 and SIGALRM, by which --ranks passes the latter two on) are
// requests, which requested_stop() shows. A second SIGINT ends the process at once.
void catch_stop_signals();
Stop requested_stop();

}  // namespace drl

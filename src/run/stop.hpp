// Requests to stop a run, by a signal, the job's time limit or the file STOP.
#pragma once

namespace drl {

// Reasons to stop, in increasing order of precedence.
enum class Stop { none, time_limit, to_be_continued, interrupted, terminated };

// Returns the exit code of all ranks: 75 for time_limit and to_be_continued, 130 for interrupted, 143 for terminated.
int exit_code_of(Stop stop);
const char* name_of(Stop stop);  // "SIGUSR1 or the file STOP", ...

// Installs handlers for SIGUSR1, SIGINT and SIGTERM. Also handles the signals that replace SIGINT and SIGTERM on ranks
// that drl_train has started: SIGUSR2, SIGALRM and signal_for_ranks(SIGINT). requested_stop() then returns the
// strongest request so far. A second SIGINT ends the process at once.
void catch_stop_signals();
Stop requested_stop();

}  // namespace drl

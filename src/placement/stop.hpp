// Requests to stop a run: by a signal, a time limit or the file STOP. Ranks and the processes that start ranks use the
// same table (stop.cpp).
#pragma once

#include <vector>

namespace drl {

// Reasons to stop, in increasing order of precedence. `passed_on` is a signal that the process that started this rank
// passed on through srun, which only forwards SIGUSR1 and SIGUSR2. That process knows the signal and its exit code.
enum class Stop { none, time_limit, to_be_continued, passed_on, interrupted, terminated };

// Returns the exit code of all ranks: 130 for interrupted, 143 for terminated, 75 for the others.
int exit_code_of(Stop stop);
const char* name_of(Stop stop);  // "SIGINT", ...

// Returns the request that the signal makes; `passed_on` for SIGUSR2 if `through_srun`. Pure.
Stop stop_of(int signal, bool through_srun = false);
// Returns the signal that passes the request on to ranks through srun; 0 for none. Pure.
int signal_through_srun(Stop stop);

// Returns the exit code of a process that has passed the request on to ranks through srun, which then exited with
// `code`. It knows the reason for the stop better than they do. A rank that had no handlers yet is killed by the
// signal. Pure.
int exit_code_after(int code, Stop passed_on);

// Returns true if this process ignores the signal. Before it installs handlers, this is the choice of the process that
// started it: nohup ignores SIGHUP.
bool is_ignored(int signal);
// Returns the signals that request a stop. An ignored SIGHUP is none of them.
std::vector<int> stop_signals();

// Installs handlers for stop_signals(), and should be called before anything that takes time: requested_stop() then
// returns the strongest request so far. A second SIGINT ends the process at once; any other signal may come again. Also
// makes a write to a console whose reader has ended fail instead of ending the process, and leaves time to save before
// the hard limit of CPU time.
//
// Until take_stops_as_requests(), there is nothing to save: SIGINT, SIGTERM and SIGHUP end the process at once, with
// their exit code and a message.
void catch_stop_signals();
void take_stops_as_requests();
Stop requested_stop();
// Counts a request that did not come by a signal's handler.
void note_stop(Stop stop);

}  // namespace drl

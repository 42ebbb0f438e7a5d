// Starting the program again on several ranks of this machine, when no launcher did (--ranks N).
#pragma once

#include <string>
#include <vector>

namespace drl {

// mpirun's command line for `ranks` ranks of `command` on `cores` cores: pinned one rank a core if they take all of
// them (mpirun pins from the first core on, so that two smaller runs would share cores). Pure.
std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command);

// Runs `command` on `ranks` ranks, waits, and returns their exit code. SIGUSR1, SIGTERM and SIGINT reach the ranks as
// requests to stop, with time to save. Throws UsageError if there is no mpirun.
int run_under_mpirun(int ranks, const std::vector<std::string>& command);

// What a rank does at last with the exit code on which all ranks agree, so that run_under_mpirun can return it. Returns
// what main is to return.
int end_of_rank(int rank, int exit_code);

// Is this process a rank of run_under_mpirun?
bool started_by_ourselves();

// How a signal reaches the ranks: Open MPI's mpirun passes on SIGUSR1, SIGUSR2 and SIGALRM as they are, that of MPICH
// SIGUSR1, SIGQUIT and SIGALRM. SIGINT and SIGTERM they may answer by killing the ranks. So SIGUSR2 or SIGQUIT stands
// for SIGINT, and SIGALRM for SIGTERM and SIGHUP.
int signal_for_ranks(int signal);

// The width of the terminal that rank 0's standard output ends on, 0 if it ends in a file or a
// pipe, or cannot move its cursor. mpirun gives its
// ranks a pseudo-terminal whatever its own output is, so that isatty() alone would be wrong.
int terminal_width();

}  // namespace drl

// Starting the program again on several ranks of this machine, when no launcher did (--ranks N).
#pragma once

#include <string>
#include <vector>

namespace drl {

// mpirun's command line for `ranks` ranks of `command` on `cores` cores: pinned one rank a core if they suffice. Pure.
std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command);

// Runs `command` on `ranks` ranks, waits, and returns their exit code. SIGUSR1, SIGTERM and SIGINT reach the ranks as
// requests to stop, with time to save. Throws UsageError if there is no mpirun.
int run_under_mpirun(int ranks, const std::vector<std::string>& command);

// The width of the terminal that rank 0's standard output ends on, 0 if it ends in a file or a pipe. mpirun gives its
// ranks a pseudo-terminal whatever its own output is, so that isatty() alone would be wrong.
int terminal_width();

}  // namespace drl

// Restarts the program on several ranks of this machine if no launcher did (--ranks N).
#pragma once

#include <string>
#include <vector>

namespace drl {

// Returns mpirun's command line for `ranks` ranks of `command` on `cores` cores. The ranks are pinned, one per core,
// only if they use all cores: mpirun pins from the first core on, so two smaller runs would share cores. Pure.
std::vector<std::string> mpirun_command(int ranks, int cores, const std::vector<std::string>& command);

// Runs `command` on `ranks` ranks, waits, and returns their exit code. The signals that request a stop reach the ranks,
// which have the time that they need to save. Throws UsageError if mpirun cannot be started, and Error if it ended
// before any rank began, or if a rank was killed by a signal.
int run_under_mpirun(int ranks, const std::vector<std::string>& command);

// The facts about this machine that decide whether mpirun can start.
struct LauncherPlace {
  std::string mpi;                         // "Open MPI"
  std::string folder;                      // its files are here
  double free_bytes = -1;                  // in the folder; negative if unknown
  bool has_network = true;                 // an interface is up
  std::vector<std::string> settings = {};  // variables that set parameters of MPI, as "NAME=value"
};
// Returns the error of an mpirun that ended with `code` before any rank began. Pure.
std::string launcher_failure(const LauncherPlace& place, int code);

// Tells run_under_mpirun, if that started this rank, that MPI has started. Call it on all ranks.
void report_begin(int rank);

// Passes the exit code that all ranks agree on to run_under_mpirun, if that started this rank. Returns the value that
// main should return.
int report_exit_code(int rank, int exit_code);

// Returns whether run_under_mpirun started this process.
bool started_by_ourselves();

// Returns the width of the terminal that shows rank 0's standard output; 0 if it goes to a file or a pipe, or if the
// terminal cannot move its cursor. isatty() alone would be wrong, because mpirun always gives its ranks a
// pseudo-terminal.
int terminal_width();

}  // namespace drl

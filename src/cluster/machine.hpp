// The machine that this process runs on.
#pragma once

#include <string>

namespace drl {

struct Machine {
  std::string host;
  std::string cpu_model;
  int cores = 1;       // physical cores that this process may use
  int host_cores = 1;  // physical cores of the machine
};

Machine this_machine();
// The CPU's name in /proc/cpuinfo; Arm has numbers there: "aarch64 (implementer 0x41, part 0xd4f)". Pure.
std::string cpu_model_of(const std::string& cpuinfo, const std::string& architecture);

std::string mpi_version();        // "Open MPI v4.1.4"
std::string mpi_thread_level();   // that MPI gave us: "funneled"; "" while it does not run
std::string network_variables();  // which make this MPI take another network, with an example
// Of what MPI_Get_library_version says, the name and the version. Pure.
std::string short_mpi_version(const std::string& text);

std::string utc_time();            // now, "2026-01-31T23:59:59Z"
std::string utc_time_for_names();  // now, "2026-01-31_23-59-59"

}  // namespace drl

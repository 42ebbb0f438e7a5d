// The MPI library that this program runs with.
#pragma once

#include <string>

namespace drl {

bool is_open_mpi();
std::string mpi_version();        // "Open MPI v4.1.4"
std::string mpi_thread_level();   // that MPI gave us: "funneled"; "" while it does not run
std::string network_variables();  // which make this MPI take another network, with an example
// Of what MPI_Get_library_version says, the name and the version. Pure.
std::string short_mpi_version(const std::string& text);

}  // namespace drl

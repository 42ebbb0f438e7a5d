// The MPI library that this program runs with.
#pragma once

#include <string>

namespace drl {

bool is_open_mpi();
std::string mpi_version();        // "Open MPI v4.1.4"
std::string mpi_thread_level();   // the provided level: "funneled"; "" if MPI is not initialised
std::string network_variables();  // an example of the variables that select this MPI's network
// Returns name and version from the text of MPI_Get_library_version. Pure.
std::string short_mpi_version(const std::string& text);

}  // namespace drl

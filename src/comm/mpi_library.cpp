#include "comm/mpi_library.hpp"

#include <mpi.h>

#include <regex>

namespace drl {

// Details follow after a comma (Open MPI) or in further lines (MPICH and Cray MPICH).
std::string short_mpi_version(const std::string& text) {
  static const std::regex labels("^MPI VERSION\\s*:\\s*|Version:\\s*");
  return std::regex_replace(text.substr(0, text.find_first_of(",\n")), labels, "");
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return short_mpi_version(std::string(text, static_cast<size_t>(length)));
}

bool is_open_mpi() {
#ifdef OPEN_MPI
  return true;
#else
  return false;
#endif
}

std::string network_variables() {
  if (is_open_mpi()) return "OMPI_MCA_btl_tcp_if_include=ib0 (with UCX: UCX_NET_DEVICES=mlx5_0:1)";
  return "FI_TCP_IFACE=ib0 (with UCX: UCX_NET_DEVICES=mlx5_0:1)";
}

std::string mpi_thread_level() {
  int running = 0, level = 0;
  MPI_Initialized(&running);
  if (!running) return "";
  MPI_Query_thread(&level);
  return level == MPI_THREAD_SINGLE       ? "single"
         : level == MPI_THREAD_FUNNELED   ? "funneled"
         : level == MPI_THREAD_SERIALIZED ? "serialized"
                                          : "multiple";
}

}  // namespace drl

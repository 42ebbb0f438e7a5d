#include "cluster/mpi_check.hpp"

#include <mpi.h>

#include <climits>
#include <string>

#include "base/check.hpp"

namespace drl {

void check_mpi(int code, const char* call, int peer) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string(call) + (peer < 0 ? "" : " with rank " + std::to_string(peer)) + " failed (" +
              std::string(text, static_cast<size_t>(length)) +
              "): see the lines of the other ranks above for the first cause");
}

int as_count(size_t count) {
  DRL_CHECK(count <= INT_MAX, "more than 2^31 elements in one MPI message");
  return static_cast<int>(count);
}

}  // namespace drl

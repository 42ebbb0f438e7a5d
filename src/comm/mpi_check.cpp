#include "comm/mpi_check.hpp"

#include <mpi.h>

#include <climits>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {

void check_mpi(int code, const char* call, int peer) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(fmt::format("{}{} failed ({}): look for an earlier error of another rank above", call,
                          peer < 0 ? "" : fmt::format(" with rank {}", peer), text));
}

int as_count(size_t count) {
  DRL_CHECK(count <= INT_MAX, "more than 2^31 elements in one MPI message");
  return static_cast<int>(count);
}

}  // namespace drl

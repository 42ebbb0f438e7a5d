// Checks for MPI calls. MPI's default error handler ends the job; drl's communicators set MPI_ERRORS_RETURN instead, so
// that MPI's text becomes part of drl's error message.
#pragma once

#include <cstddef>

namespace drl {

// Throws Error with MPI's text unless `code` is MPI_SUCCESS. `call` is the name of the MPI function, and `peer` the
// other rank involved (-1: none).
void check_mpi(int code, const char* call, int peer = -1);

// Converts a count to MPI's int. Larger data must be sent in pieces.
int as_count(size_t count);

}  // namespace drl

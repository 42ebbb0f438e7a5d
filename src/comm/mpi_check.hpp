// What every call of MPI goes through. MPI's default handler ends the job itself; with MPI_ERRORS_RETURN, which the
// communicator of all ranks sets, its text reaches the user through our error.
#pragma once

#include <cstddef>

namespace drl {

// Throws Error with MPI's text unless `code` is success. `call` names it, `peer` the rank it concerns (-1: none).
void check_mpi(int code, const char* call, int peer = -1);

// MPI counts by int: whoever may have more goes by pieces.
int as_count(size_t count);

}  // namespace drl

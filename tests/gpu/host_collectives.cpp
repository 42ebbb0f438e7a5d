#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "gpu/runtime.hpp"

namespace drl::gpu {
namespace {

bool with_mpi() {
  int running = 0;
  MPI_Initialized(&running);
  return running != 0;
}

// All ranks must have got the id of rank 0.
bool is_rank_zeros(gpucclUniqueId id) {
  gpucclUniqueId first = id;
  if (with_mpi()) MPI_Bcast(&first, sizeof(first), MPI_BYTE, 0, MPI_COMM_WORLD);
  return std::memcmp(&first, &id, sizeof(id)) == 0;
}

void sum_over_ranks(void* data, size_t count, gpucclDataType_t type) {
  if (with_mpi())
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), type == gpucclFloat ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

}  // namespace

HostCollectives& host_collectives() {
  static HostCollectives instance;
  return instance;
}

}  // namespace drl::gpu

using namespace drl::gpu;

gpucclResult_t gpucclGetVersion(int* version) { return *version = host_collectives().version, gpucclSuccess; }

const char* gpucclGetErrorString(gpucclResult_t result) {
  switch (result) {
    case gpucclSuccess:
      return "no error";
    case gpucclSystemError:
      return "unhandled system error";
    case gpucclInvalidArgument:
      return "invalid argument";
    case gpucclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "in progress";
  }
}

const char* gpucclGetLastError(gpucclComm_t) { return host_collectives().last_error; }

gpucclResult_t gpucclGetUniqueId(gpucclUniqueId* id) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::snprintf(id->internal, sizeof(id->internal), "%lld", static_cast<long long>(now));
  return gpucclSuccess;
}

gpucclResult_t gpucclCommInitRankConfig(gpucclComm_t* comm, int size, gpucclUniqueId id, int rank,
                                        gpucclConfig_t* config) {
  if (config->blocking != 0 || !is_rank_zeros(id)) return gpucclInvalidArgument;
  *comm = new HostComm{.rank = rank, .size = size, .polls = host_collectives().init_polls, .begun = {}};
  return (*comm)->polls ? gpucclInProgress : gpucclSuccess;
}

gpucclResult_t gpucclCommGetAsyncError(gpucclComm_t comm, gpucclResult_t* result) {
  if (comm->polls > 0 && --comm->polls == 0 && comm->begun) std::exchange(comm->begun, {})();
  *result = comm->polls ? gpucclInProgress : std::exchange(host_collectives().error, gpucclSuccess);
  return gpucclSuccess;
}

gpucclResult_t gpucclAllReduce(const void* from, void* to, size_t count, gpucclDataType_t type, gpucclRedOp_t,
                               gpucclComm_t comm, gpuStream_t stream) {
  if (from != to || comm->polls) return gpucclInvalidArgument;
  const auto work = [=] {
    if (host_collectives().sticks_at-- == 0) {
      stream->stuck = true;
      comm->stuck = stream;
    } else {
      sum_over_ranks(to, count, type);
    }
  };
  comm->begun = [=] { host_enqueue(stream, work); };
  comm->polls = host_collectives().enqueue_polls;
  if (comm->polls) return gpucclInProgress;
  std::exchange(comm->begun, {})();
  return gpucclSuccess;
}

gpucclResult_t gpucclCommFinalize(gpucclComm_t comm) {
  host_collectives().finalized += 1;
  comm->polls = 2;
  return gpucclInProgress;
}

gpucclResult_t gpucclCommDestroy(gpucclComm_t comm) {
  host_collectives().destroyed += 1;
  delete comm;
  return gpucclSuccess;
}

gpucclResult_t gpucclCommAbort(gpucclComm_t comm) {
  while (host_collectives().abort_sticks) std::this_thread::sleep_for(std::chrono::hours(1));
  host_collectives().aborted += 1;  // before anyone can see that the stream goes on
  if (HostStream* stream = comm->stuck.exchange(nullptr)) stream->stuck = false;
  return gpucclSuccess;
}

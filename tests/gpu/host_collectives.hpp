// The collectives of the emulated CUDA runtime: NCCL's functions (gpu/runtime.hpp, "Collectives") over MPI, with faults
// that tests can inject.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

enum gpucclResult_t {
  gpucclSuccess,
  gpucclSystemError = 2,
  gpucclInvalidArgument = 4,
  gpucclRemoteError = 6,
  gpucclInProgress = 7
};
enum gpucclDataType_t { gpucclFloat, gpucclDouble };
enum gpucclRedOp_t { gpucclSum };
struct gpucclUniqueId {
  char internal[128];
};
struct gpucclConfig_t {
  int blocking = 1;
};
#define GPUCCL_CONFIG_INITIALIZER \
  {}

namespace drl::gpu {

// Faults that a test injects into this process's collectives, and counts of calls.
struct HostCollectives {
  int version = 22809;
  int init_polls = 0;        // number of polls that return gpucclInProgress before the init is done; -1: never done
  int enqueue_polls = 0;     // the same for each all-reduce, which is enqueued after these polls
  int64_t hangs_at = -1;     // index (from now) of an all-reduce that never ends; must be set on all ranks
  bool abort_hangs = false;  // gpucclCommAbort neither returns nor ends a kernel
  gpucclResult_t error = gpucclSuccess;  // gpucclCommGetAsyncError returns this once
  const char* last_error = "";

  std::atomic<int> aborted{0};
  int finalized = 0, destroyed = 0;
};
HostCollectives& host_collectives();

inline constexpr int kNoMpi = -1;
struct HostComm {
  int rank = 0, size = 1;
  int mpi = kNoMpi;                  // its MPI communicator, from MPI_Comm_c2f
  int polls = 0;                     // number of polls before the last operation is done
  std::function<void()> begun;       // called then, to enqueue the operation
  std::atomic<HostStream*> stuck{};  // the stream of an all-reduce that never ends
};

}  // namespace drl::gpu

using gpucclComm_t = drl::gpu::HostComm*;

gpucclResult_t gpucclGetVersion(int* version);
const char* gpucclGetErrorString(gpucclResult_t result);
const char* gpucclGetLastError(gpucclComm_t comm);
gpucclResult_t gpucclGetUniqueId(gpucclUniqueId* id);
gpucclResult_t gpucclCommInitRankConfig(gpucclComm_t* comm, int size, gpucclUniqueId id, int rank,
                                        gpucclConfig_t* config);
gpucclResult_t gpucclCommGetAsyncError(gpucclComm_t comm, gpucclResult_t* result);
gpucclResult_t gpucclCommFinalize(gpucclComm_t comm);
gpucclResult_t gpucclCommDestroy(gpucclComm_t comm);
gpucclResult_t gpucclCommAbort(gpucclComm_t comm);
gpucclResult_t gpucclAllReduce(const void* from, void* to, size_t count, gpucclDataType_t type, gpucclRedOp_t,
                               gpucclComm_t comm, gpuStream_t stream);

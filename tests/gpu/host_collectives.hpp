// The collectives of the stand-in, over MPI, with the faults of real ones: gpu/runtime.hpp, "Collectives".
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

// What a test wants of this process's collectives, and what they saw.
struct HostCollectives {
  int version = 22809;
  int init_polls = 0;         // gpucclInProgress so often before the init is done; -1: never done
  int enqueue_polls = 0;      // the same of each all-reduce, which is enqueued only then
  int64_t sticks_at = -1;     // the all-reduce, counted from now, that does not end; to be planted on all ranks
  bool abort_sticks = false;  // gpucclCommAbort neither returns nor ends a kernel
  gpucclResult_t error = gpucclSuccess;  // that gpucclCommGetAsyncError tells, once
  const char* last_error = "";

  std::atomic<int> aborted{0};
  int finalized = 0, destroyed = 0;
};
HostCollectives& host_collectives();

inline constexpr int kNoMpi = -1;
struct HostComm {
  int rank = 0, size = 1;
  int mpi = kNoMpi;                  // its ranks, as MPI_Comm_c2f names them
  int polls = 0;                     // before what was begun last is done
  std::function<void()> begun;       // is enqueued then
  std::atomic<HostStream*> stuck{};  // holds an all-reduce that does not end
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

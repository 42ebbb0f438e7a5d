#include <mpi.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "gpu/runtime.hpp"

namespace drl::gpu {
namespace {

bool mpi_is_running() {
  int running = 0;
  MPI_Initialized(&running);
  return running != 0;
}

// Returns an MPI communicator (as MPI_Comm_c2f) of the ranks with the same id. All ranks of MPI_COMM_WORLD must call
// this.
int ranks_with(const gpucclUniqueId& id, int rank) {
  if (!mpi_is_running()) return kNoMpi;
  const auto colour = static_cast<int>(std::hash<std::string_view>()(id.internal) & 0x7fffffff);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comm);
  return MPI_Comm_c2f(comm);
}

// Returns whether all `comm.size` ranks have got the same id.
bool is_complete(const HostComm& comm) {
  int size = 1;
  if (comm.mpi != kNoMpi) MPI_Comm_size(MPI_Comm_f2c(comm.mpi), &size);
  return size == comm.size;
}

// Returns whether the communicator contains all ranks of MPI_COMM_WORLD.
bool contains_all_ranks(const HostComm& comm) {
  int all = 1;
  if (comm.mpi != kNoMpi) MPI_Comm_size(MPI_COMM_WORLD, &all);
  return comm.size == all;
}

void sum_over_ranks(const HostComm& comm, void* data, size_t count, gpucclDataType_t type) {
  if (comm.mpi != kNoMpi)
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), type == gpucclFloat ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM,
                  MPI_Comm_f2c(comm.mpi));
}

}  // namespace

HostCollectives& host_collectives() {
  static HostCollectives instance{.init_polls = host_fault("init_hangs") ? -1 : 0, .last_error = ""};
  return instance;
}

// Writes a log as NCCL does with NCCL_DEBUG=INFO, with the lines about its network.
void write_log() {
  const char *level = std::getenv("NCCL_DEBUG"), *file = std::getenv("NCCL_DEBUG_FILE");
  if (!level || !file || std::strcmp(level, "INFO") != 0) return;
  std::ofstream(file) << "n1:7:8 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
                      << "n1:7:8 [0] NCCL INFO Using network Socket\n";
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
  write_log();
  *comm = new HostComm{
      .rank = rank, .size = size, .mpi = ranks_with(id, rank), .polls = host_collectives().init_polls, .begun = {}};
  if (config->blocking != 0 || !is_complete(**comm)) return gpucclInvalidArgument;
  if (host_fault("init_stops")) raise(SIGSTOP);
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
    if (host_collectives().hangs_at-- == 0 || (host_fault("node_hangs") && !contains_all_ranks(*comm))) {
      stream->stuck = true;
      comm->stuck = stream;
    } else {
      sum_over_ranks(*comm, to, count, type);
      if (host_fault("wrong_sum") && type == gpucclFloat && count > 1) static_cast<float*>(to)[count - 1] += 1;
    }
  };
  comm->begun = [=] { host_enqueue(stream, HostWork::collective, work); };
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
  if (comm->mpi != kNoMpi) {
    MPI_Comm mpi = MPI_Comm_f2c(comm->mpi);
    MPI_Comm_free(&mpi);
  }
  delete comm;
  return gpucclSuccess;
}

gpucclResult_t gpucclCommAbort(gpucclComm_t comm) {
  while (host_collectives().abort_hangs) std::this_thread::sleep_for(std::chrono::hours(1));
  host_collectives().aborted += 1;  // must be visible before the stream continues
  if (HostStream* stream = comm->stuck.exchange(nullptr)) stream->stuck = false;
  return gpucclSuccess;
}

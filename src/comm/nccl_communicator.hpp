// All-reduces between GPUs with NCCL. Only builds with CUDA, and tests with an emulated CUDA runtime, include this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/gpu_identity.hpp"
#include "launch/environment.hpp"

namespace drl {

struct NcclOptions {
  double init_timeout = 600, comm_timeout = 300;  // s
  bool deterministic = false;
  int device = 0;                  // CUDA's index of this rank's GPU
  std::vector<std::string> hosts;  // hosts of all ranks, for errors about ranks that do not respond; may be empty
  bool may_share_gpu = false;      // NCCL itself refuses two ranks on one GPU unless their host names differ
};

// Connects the GPUs of all ranks. `host` (MPI or serial) transfers data in host memory and must outlive the result.
// all_reduce_sum takes data in device memory if the stream's handle is a gpuStream_t, and data in host memory if it is
// empty. Graphs with captured all-reduces must be destroyed before the communicator, which all ranks must destroy.
//
// Throws SharedError (exit code 2) on all ranks if they cannot work together (check_identities). Throws Error if not
// all ranks have connected within init_timeout.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const NcclOptions& options);

std::string nccl_version();  // "2.28.9"

// Returns this rank's GPU, driver, NCCL and program.
GpuIdentity this_gpu(int device);

struct NcclSituation {
  bool sees_one_of_several = false;        // the node has more ranks, whose GPUs this rank does not see
  bool hosts_look_for_each_other = false;  // NCCL could not connect the hosts
  bool gpu_failed = false;                 // a kernel failed, perhaps one of NCCL's
};
// Returns advice for when NCCL hangs or fails: the first workaround that the environment does not set yet. Pure.
std::string nccl_advice(const Environment& environment, const NcclSituation& situation);

}  // namespace drl

// All-reduces between GPUs, by NCCL. Only builds for GPUs (and tests, on a stand-in) have it.
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
  int device = 0;                  // of those that this rank sees
  std::vector<std::string> hosts;  // of all ranks, so that one that never comes is named with its host; may be empty
  bool may_share_gpu = false;      // NCCL itself refuses two ranks on one GPU, unless it takes them for two hosts'
};

// Connects the GPUs of all ranks; `host`, MPI's or serial, carries what is in host memory, and must outlive the result.
// Streams of all_reduce_sum hold a gpuStream_t, and the data is in device memory; with an empty one both are the
// host's. Graphs that captured all-reduces must end before the communicator; all ranks end it alike.
//
// Throws on all ranks alike (SharedError, exit code 2) when they cannot work together: check_identities. Throws Error
// when not all have connected within init_timeout.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const NcclOptions& options);

std::string nccl_version();  // "2.28.9"

// This rank's GPU, driver, NCCL and program.
GpuIdentity this_gpu(int device);

// What to try when NCCL hangs or fails: the first of the ways out that this environment does not have yet. Pure.
struct NcclSituation {
  bool sees_one_of_several = false;        // this rank's node has more ranks, whose GPUs it does not see
  bool hosts_look_for_each_other = false;  // NCCL has not connected several hosts
};
std::string nccl_advice(const Environment& environment, const NcclSituation& situation);

}  // namespace drl

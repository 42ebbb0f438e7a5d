// Tests that the failure of a rank ends the job. This program starts itself with mpirun and checks the job's exit code
// and messages.

#include <gtest/gtest.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "algorithms/rollout.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "envs/make_env.hpp"
#include "nccl_rig.hpp"
#include "simulators.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kLaunches = 3;

// ---- A rank ---------------------------------------------------------------------------------------------------------

// Injects faults. The emulated collectives run immediately, so the effect of a missing rank on the others is injected
// too.
void inject([[maybe_unused]] const std::string& fault, [[maybe_unused]] int rank) {
#if defined(DRL_GPU_RUNTIME)
  gpu::host_collectives().hangs_at = kLaunches - 1;
  gpu::host_collectives().abort_hangs = fault == "gpu_hangs";
  if (fault == "nccl_error" && rank == 1) gpu::host_collectives().error = gpucclSystemError;
#endif
}

// Replaces MPI's function and fails if `probes_fail` is set.
bool probes_fail = false;
extern "C" int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* there, MPI_Status* status) {
  return probes_fail ? MPI_ERR_OTHER : PMPI_Iprobe(from, tag, comm, there, status);
}

// Stands for GPU memory. Its destructor hangs if the GPU hangs, as freeing memory does.
struct GpuMemory {
  bool gpu_hangs;
  ~GpuMemory() {
    if (gpu_hangs) ::pause();
  }
};

// Steps a simulator on the host, whose environment with the global index 20 throws.
void step_simulator(Queue& queue, int rank) {
  register_test_simulators();
  const auto envs = make_env("Thrower", {.num_envs = 16, .first_global_index = 16 * rank}, queue);
  const Rollout rollout(queue, envs->spec(), 4, 16);
  envs->reset(queue, rollout.start_row(), {});
  for (int64_t t = 0; t < 4; ++t) envs->step(queue, {nullptr, t}, 0, 16, rollout.row(t));
}

// Launches a recorded all-reduce several times. The fault occurs on rank 1 before the last launch.
void run_rank(Communicator& host, const std::string& fault) {
  log::init(host.rank(), host.size(), host_name(), false);
  const auto comm = make_nccl_communicator(host, {.comm_timeout = 2,
                                                  .device = shared_gpu(host.rank()),
                                                  .hosts = {"first", "second"},
                                                  .may_share_gpu = kMayShareGpu});
  const std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<float> gradient(*queue, 1000);
  queue->synchronize();
  std::unique_ptr<RecordedWork> recording;
  const CommStats captured = comm->capture([&] {
    recording = queue->record([&] { comm->all_reduce_sum(std::span(gradient.data(), 1000), {queue->native()}); });
  });
  const GpuMemory memory{fault == "gpu_hangs"};
  inject(fault, host.rank());
  probes_fail = fault == "mpi_fails" && host.rank() == 1;
  for (int launch = 1; launch <= kLaunches; ++launch) {
    if (launch == kLaunches && host.rank() == 1) {
      if (fault == "killed") ::sleep(1), ::raise(SIGKILL);
      if (fault == "stalls") ::pause();
    }
    if (launch == kLaunches && fault == "simulator") step_simulator(*queue, host.rank());
    queue->launch(*recording);
    comm->count_replayed(captured, {queue->native()});
  }
  comm->wait([&] { return queue->done(); });
}

// ---- The job ------------------------------------------------------------------------------------------

// Each rank of the job runs only this case.
TEST(NcclRank, DISABLED_HasAFault) { run_rank(world(), std::getenv("DRL_FAULT")); }

class NcclJob : public GpuTest {
 protected:
  static Result run(const std::string& fault) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    return run_program(mpirun(2) + Words{self, "--gtest_also_run_disabled_tests", "--gtest_filter=NcclRank.*"},
                       {{"DRL_FAULT", fault}});
  }
  static size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
};

TEST_F(NcclJob, AKilledRankEndsTheJob) { EXPECT_NE(run("killed").exit_code, kDone); }

TEST_F(NcclJob, AStalledRankIsNamedOnceAndEndsTheJob) {
  const Result job = run("stalls");
  EXPECT_EQ(job.exit_code, kFailure);
  expect_mentions(job.err, {"all-reduce 3 of the 3 ", " 2 s ", "no answer from rank 1", "rank 1 on second"});
  EXPECT_EQ(count(job.err, "--comm_timeout"), 1) << job.err;
}

#if defined(DRL_GPU_RUNTIME)

TEST_F(NcclJob, ARankWhoseNcclFailsEndsTheJob) {
  const Result job = run("nccl_error");
  EXPECT_EQ(job.exit_code, kFailure);
  expect_mentions(job.err, {"[rank 1 on " + host_name() + "] NCCL", "all-reduce 3 of the 3"});
}

// The other rank must not wait for the timeout.
TEST_F(NcclJob, ARankWhoseSimulatorThrowsEndsTheJobAtOnce) {
  const Result job = run("simulator");
  EXPECT_EQ(job.exit_code, kFailure);
  expect_mentions(job.err, {"[rank 1 on " + host_name() + "] ", "Thrower"});
  EXPECT_EQ(count(job.err, "the licence server is asleep"), 1) << job.err;
  EXPECT_EQ(count(job.err, "--comm_timeout"), 0) << job.err;
}

// It cannot receive from rank 0, but must not report that rank 0 does not answer.
TEST_F(NcclJob, ARankWhoseMpiFailsReportsThat) {
  const Result job = run("mpi_fails");
  EXPECT_EQ(job.exit_code, kFailure);
  expect_mentions(job.err, {"[rank 1 on " + host_name() + "] MPI_Iprobe", "MPI_ERR_OTHER"});
  EXPECT_EQ(count(job.err, "no answer from"), 0) << job.err;
}

// GPU memory must not be freed in this case, since that would wait for the GPU.
TEST_F(NcclJob, AGpuThatHangsEvenWhenNcclAbortsEndsTheJob) {
  const Result job = run("gpu_hangs");
  EXPECT_EQ(job.exit_code, kFailure);
  expect_mentions(job.err, {" 2 s ", "all ranks wait"});
  EXPECT_EQ(count(job.err, "all-reduce 3 of the 3 "), 1) << job.err;
}

#endif

}  // namespace
}  // namespace drl

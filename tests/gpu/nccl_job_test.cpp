// A rank's failure ends the job: this program starts itself by mpirun, and looks from outside.

#include <gtest/gtest.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../support/process.hpp"
#include "algorithms/rollout.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "comm/session.hpp"
#include "envs/make_env.hpp"
#include "nccl_rig.hpp"
#include "simulators.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kLaunches = 3;

// ---- A rank ---------------------------------------------------------------------------------------------------------

// The stand-in's collectives run at once: what a missing rank does to the others is planted.
void plant([[maybe_unused]] const std::string& fault, [[maybe_unused]] int rank) {
#if defined(DRL_GPU_HOST)
  gpu::host_collectives().sticks_at = kLaunches - 1;
  gpu::host_collectives().abort_sticks = fault == "gpu_sticks";
  if (fault == "nccl_error" && rank == 1) gpu::host_collectives().error = gpucclSystemError;
#endif
}

// As MPI calls it, instead of MPI's own: fails where that is planted.
bool probes_fail = false;
extern "C" int MPI_Improbe(int from, int tag, MPI_Comm comm, int* there, MPI_Message* message, MPI_Status* status) {
  return probes_fail ? MPI_ERR_OTHER : PMPI_Improbe(from, tag, comm, there, message, status);
}

// What freeing GPU memory does while the GPU hangs.
struct Freed {
  bool hangs;
  ~Freed() {
    if (hangs) ::pause();
  }
};

// A step of a simulator on the host, beside the GPU, which throws where the global index is 20.
void step_simulator(Queue& queue, int rank) {
  register_tasks(test_simulators(), "the tests");
  const auto envs = make_env("Thrower", {.num_envs = 16, .first_global_index = 16 * rank}, queue);
  const Rollout rollout(queue, envs->spec(), 4, 16);
  envs->reset(queue, rollout.start_row(), {});
  for (int64_t t = 0; t < 4; ++t) envs->step(queue, {nullptr, t}, 0, 16, rollout.row(t));
}

// Launches a recording of an all-reduce; rank 1 comes to the fault of this name before its last launch.
int run_rank(Communicator& host, const std::string& fault) {
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
  const Freed freed{fault == "gpu_sticks"};
  plant(fault, host.rank());
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
  return kDone;
}

// ---- The job, from outside ------------------------------------------------------------------------------------------

// What this was built with, unless it was carried to another machine (tools/test_gpu --built).
std::string path_of(const char* variable, const char* built) {
  const char* carried = std::getenv(variable);
  return carried ? carried : built;
}

class NcclJob : public GpuTest {
 protected:
  static Result run(const std::string& fault) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    return run_program(
        {path_of("DRL_TEST_DATA", DRL_TEST_DATA) + "/mpirun_test", path_of("DRL_MPIEXEC", DRL_MPIEXEC), "2", self},
        {{"DRL_FAULT", fault}});
  }
  static size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
};

TEST_F(NcclJob, AKilledRankEndsIt) { EXPECT_NE(run("killed").exit_code, kDone); }

TEST_F(NcclJob, AStalledRankIsNamedOnceAndEndsIt) {
  const Result job = run("stalls");
  EXPECT_EQ(job.exit_code, kFailure);
  EXPECT_PRED2(contains, job.err,
               "all-reduce 3 of the 3 since the last wait did not end within 2 s (no answer from rank 1 on second; ");
  EXPECT_EQ(count(job.err, "did not end within"), 1) << job.err;
}

#if defined(DRL_GPU_HOST)

TEST_F(NcclJob, ARankWhoseNcclFailsEndsIt) {
  const Result job = run("nccl_error");
  EXPECT_EQ(job.exit_code, kFailure);
  EXPECT_PRED2(contains, job.err, "[rank 1 on " + host_name() + "] NCCL failed at all-reduce 3 of the 3");
}

// The other one is not left to wait until the limit.
TEST_F(NcclJob, ARankWhoseSimulatorThrowsEndsItAtOnce) {
  const Result job = run("simulator");
  EXPECT_EQ(job.exit_code, kFailure);
  EXPECT_EQ(count(job.err, "[rank 1 on " + host_name() + "] task Thrower failed (the licence server is asleep): "), 1)
      << job.err;
  EXPECT_EQ(count(job.err, "did not end within"), 0) << job.err;
}

// It cannot hear rank 0, and does not say that rank 0 is silent.
TEST_F(NcclJob, ARankWhoseMpiFailsSaysSo) {
  const Result job = run("mpi_fails");
  EXPECT_EQ(job.exit_code, kFailure);
  EXPECT_PRED2(contains, job.err, "[rank 1 on " + host_name() + "] MPI_Improbe failed (MPI_ERR_OTHER: ");
  EXPECT_EQ(count(job.err, "no answer from"), 0) << job.err;
}

// Nothing may be freed then: that would wait for the GPU.
TEST_F(NcclJob, AGpuThatHangsEvenWhenNcclAbortsEndsIt) {
  const Result job = run("gpu_sticks");
  EXPECT_EQ(job.exit_code, kFailure);
  EXPECT_EQ(count(job.err, "all-reduce 3 of the 3 since the last wait did not end within 2 s (all ranks wait"), 1)
      << job.err;
}

#endif

}  // namespace
}  // namespace drl

int main(int argc, char** argv) {
  if (const char* fault = std::getenv("DRL_FAULT"))
    return drl::run_session(drl::launch_info(), [&](drl::Communicator& host) { return drl::run_rank(host, fault); });
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// Tests place_rank with real ranks, which mpirun starts on this machine.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../mpi_main.hpp"
#include "../support/environment.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "placement/placement.hpp"
#include "placement/topology.hpp"

namespace drl {
namespace {

using test::world;

Placement placed(const Variables& variables, const std::string& launcher = "srun", int threads = 0,
                 const std::string& gpu_ids = "all") {
  LaunchInfo launch;
  launch.launcher = launcher;
  return place_rank(world(), launch, environment_of(variables), {"auto", gpu_ids, threads});
}

// Undoes the binding of the launcher and of earlier tests.
class PlaceRankOnRanks : public testing::Test {
 protected:
  void SetUp() override { bind_this_process(Topology::of_this_machine(Topology::Read::cores).all_cpus()); }
};

TEST_F(PlaceRankOnRanks, KeepsWhatAnotherLauncherChose) {
  const CpuSet before = allowed_cpus();
  const Placement placement = placed({{"SLURM_CPUS_ON_NODE", "1024"}}, "mpirun");
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_FALSE(placement.bound);
  EXPECT_EQ(placement.device, "cpu");
  EXPECT_EQ(placement.threads, 1);
  EXPECT_EQ(placement.cores, this_machine().cores);
  EXPECT_EQ(placement.ranks_on_host, world().size());
}

TEST_F(PlaceRankOnRanks, DividesTheCoresThatSlurmGranted) {
  const Placement placement = placed({{"SLURM_CPUS_ON_NODE", "1024"}});
  const std::vector<std::string> all = gather_texts(world(), to_text(allowed_cpus()));
  const bool possible = world().size() > 1 && world().size() <= this_machine().host_cores;
  EXPECT_EQ(placement.bound, possible);
  EXPECT_EQ(placement.text.find(", bound by drl") != std::string::npos, possible);
  if (!possible) return;
  EXPECT_EQ(placement.cores, this_machine().cores);
  CpuSet seen;
  for (const std::string& cpus : all) {
    EXPECT_TRUE((seen & cpus_of_text(cpus)).none()) << cpus;
    seen |= cpus_of_text(cpus);
  }
}

// BLAS and MPI start threads before place_rank runs.
TEST_F(PlaceRankOnRanks, BindsExistingThreads) {
  std::atomic<bool> end = false;
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  placed({{"SLURM_CPUS_ON_NODE", "1024"}}, "srun", 2);
  size_t seen = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Cpus_allowed_list:\t")) {
        EXPECT_EQ(line.substr(line.find('\t') + 1), to_text(allowed_cpus())) << task.path();
        seen += 1;
      }
  }
  EXPECT_GT(seen, 3u);
  end = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PlaceRankOnRanks, HasTheSameTextOnAllRanks) {
  const Placement placement = placed({}, "mpirun", 3);
  EXPECT_EQ(placement.threads, 3);
  const std::string cores = std::to_string(this_machine().cores);
  const std::string ranks = std::to_string(world().size()) + (world().size() == 1 ? " rank" : " ranks");
  expect_mentions(placement.text, {ranks + " ", cores + (cores == "1" ? " core " : " cores "), "3 threads"});
  EXPECT_EQ(broadcast_text(world(), placement.text), placement.text);
}

TEST_F(PlaceRankOnRanks, AnErrorEndsAllRanks) {
  const int gpus = world().size() - 1;
  const Variables too_few = {{"SLURM_JOB_ID", "1"}, {"SLURM_GPUS_ON_NODE", std::to_string(gpus)}};
  if (gpus > 0) {
    EXPECT_THROW(placed(too_few), ReportedError);
  }
  EXPECT_THROW(placed({}, "srun", {}, "0"), ReportedError);
  // There is no error if each rank has its own GPU.
  EXPECT_EQ(placed({{"SLURM_JOB_ID", "1"}, {"SLURM_GPUS_ON_NODE", std::to_string(gpus + 1)}}).device, "cpu");
}

}  // namespace
}  // namespace drl

// The energy of the ranks' GPUs, with a stand-in for NVML (nvml_stub.cpp).
#include "comm/gpu_energy.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "../mpi_main.hpp"
#include "base/format.hpp"

namespace drl {
namespace {

GpuIdentity gpu(int number, bool has_uuid = true) {
  GpuIdentity identity;
  identity.host = "node1";
  if (has_uuid) identity.uuid = fmt::format("GPU-{0:02x}010101-0101-0101-0101-010101010101", number);
  identity.pci = fmt::format("0000:{:02x}:00", number);
  return identity;
}

class EnergyOnRanks : public testing::Test {
 protected:
  ~EnergyOnRanks() override { ::unsetenv("STUB_NVML"); }
  void plant(const char* fault) { ::setenv("STUB_NVML", fault, 1); }
  // Returns the meter's joules and GPUs as text on rank 0, and "unknown" where it returns none.
  static std::string text_of(const std::optional<GpuEnergy>& energy) {
    return energy ? fmt::format("{} J of {}", energy->joules, energy->gpus) : "unknown";
  }
  std::string on_rank_zero(const std::string& text) const { return comm.rank() == 0 ? text : "unknown"; }

  Communicator& comm = test::world();
};

// GPU N uses 1000 N joules between two reads.
TEST_F(EnergyOnRanks, IsTheSumOverTheGpusSinceTheFirstReading) {
  const int size = comm.size(), sum = 1000 * size * (size + 1) / 2;
  for (const bool has_uuid : {true, false}) {
    GpuEnergyMeter meter(gpu(comm.rank() + 1, has_uuid), comm);
    for (int reads = 0; reads < 4; ++reads)
      EXPECT_EQ(text_of(meter.read()), on_rank_zero(fmt::format("{} J of {}", reads * sum, size)));
  }
}

TEST_F(EnergyOnRanks, OfAGpuThatRanksShareCountsOnce) {
  GpuEnergyMeter meter(gpu(5), comm);
  meter.read();
  EXPECT_EQ(text_of(meter.read()), on_rank_zero("5000 J of 1"));
}

TEST_F(EnergyOnRanks, IsUnknownIfThatOfOneGpuIs) {
  const bool is_last = comm.rank() == comm.size() - 1;
  GpuEnergyMeter meter(gpu(is_last ? 200 : comm.rank() + 1), comm);
  EXPECT_EQ(text_of(meter.read()), "unknown");
}

TEST_F(EnergyOnRanks, IsUnknownWithoutACounter) {
  for (const char* fault : {"mig", "no_counter"}) {
    plant(fault);
    GpuEnergyMeter meter(gpu(comm.rank() + 1), comm);
    EXPECT_EQ(text_of(meter.read()), "unknown") << fault;
  }
}

TEST_F(EnergyOnRanks, StaysUnknownIfTheFirstReadingFails) {
  GpuEnergyMeter meter(gpu(comm.rank() + 1), comm);
  plant("no_counter");
  meter.read();
  plant("");
  EXPECT_EQ(text_of(meter.read()), "unknown");
}

TEST_F(EnergyOnRanks, IsUnknownAfterTheCounterHasFailed) {
  GpuEnergyMeter meter(gpu(comm.rank() + 1), comm);
  meter.read();
  for (const char* fault : {"no_counter", "driver_loaded_again"}) {
    plant(fault);
    EXPECT_EQ(text_of(meter.read()), "unknown") << fault;
  }
}

}  // namespace
}  // namespace drl

#include "run/run_manifest.hpp"

#include <gtest/gtest.h>

#include "../support/temp_folder.hpp"

namespace drl {
namespace {

// Writes run.json for one start after another, and returns the energy in it after each, "" if it has none.
class Starts {
 public:
  std::string start(const std::string& device, std::optional<double> joules) const {
    RunFacts facts;
    facts.device = device;
    RunProgress progress;
    if (joules) progress.gpu_energy = {.joules = *joules, .gpus = 1};
    const RunManifest manifest(file(), facts, "now");
    manifest.write({}, "running");  // before the energy is known
    manifest.write(progress, "done");
    const nlohmann::json json = nlohmann::json::parse(slurp(file()));
    return json.contains("gpu_energy_joules") ? json["gpu_energy_joules"].dump() : "";
  }
  std::filesystem::path file() const { return folder_ / "run.json"; }

 private:
  TempFolder folder_;
};

TEST(GpuEnergyOfARun, IsTheSumOverItsStarts) {
  const Starts run;
  EXPECT_EQ(run.start("cuda:0", 10.5), "10.5");
  EXPECT_EQ(run.start("cuda:1", 2.0), "12.5");
  EXPECT_EQ(run.start("cpu", std::nullopt), "12.5");
  EXPECT_EQ(run.start("cuda:0", 1.0), "13.5");
}

// A sum over some of the starts would be too low.
TEST(GpuEnergyOfARun, IsUnknownIfThatOfOneStartIs) {
  const Starts later;
  EXPECT_EQ(later.start("cuda:0", 10.0), "10.0");
  EXPECT_EQ(later.start("cuda:0", std::nullopt), "");
  EXPECT_EQ(later.start("cuda:0", 1.0), "");
  const Starts first;
  EXPECT_EQ(first.start("cuda:0", std::nullopt), "");
  EXPECT_EQ(first.start("cuda:0", 1.0), "");
}

TEST(GpuEnergyOfARun, IsAbsentOnCpus) { EXPECT_EQ(Starts().start("cpu", std::nullopt), ""); }

TEST(GpuEnergyOfARun, IsUnknownIfTheFileHasAnotherType) {
  const Starts run;
  spill(run.file(), R"({"gpu_energy_joules": "much"})");
  EXPECT_EQ(run.start("cuda:0", 1.0), "");
}

// Bytes that are not UTF-8 may be in a command, and cannot be in JSON.
TEST(CommandsOfARun, AreListedOnceEach) {
  const TempFolder folder;
  for (const char* command : {"drl_train --seed 1", "drl_train --seed 1", "drl_train --after_checkpoint '\xff'"})
    RunManifest(folder / "run.json", {.command = command}, "now").write({}, "done");
  const nlohmann::json commands = nlohmann::json::parse(slurp(folder / "run.json")).at("commands");
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0], "drl_train --seed 1");
}

}  // namespace
}  // namespace drl

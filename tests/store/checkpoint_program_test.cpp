// Runs the program drl_checkpoint.
#include <gtest/gtest.h>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "samples.hpp"

namespace drl {
namespace {

Result run(const Words& arguments) { return run_program(Words{bin("drl_checkpoint")} + arguments); }

TEST(CheckpointProgram, ShowsTheWholeContent) {
  const TempFolder folder;
  Checkpoint checkpoint = small_checkpoint();
  checkpoint.attributes["env_steps"] = int64_t{19660800};
  checkpoint.attributes["options"] = std::string("num_envs = 512\n[ppo]\n");
  checkpoint.attributes["zebra"] = 0.25;
  write_checkpoint(folder / "c.h5", checkpoint);
  EXPECT_EQ(expect_exit(run({"show", folder / "c.h5"}), 0).out, (folder / "c.h5").string() + R"(
  task             Cartpole
  iteration        12
  env_steps        19660800 (19.7 M)
  elapsed_seconds  1.5 (0:00:02)
  format           drl-checkpoint
  format_version   1
  options
    num_envs = 512
    [ppo]
  zebra            0.25

2 arrays, 56 B
  policy/actor/0/weight  float32  [4, 3]  48 B
  step                   int64    []      8 B
)");
}

TEST(CheckpointProgram, VerifyPrintsOneLine) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  const std::string text = expect_exit(run({"verify", folder / "c.h5"}), 0).out;
  EXPECT_TRUE(text.starts_with("ok: drl-checkpoint, 2 arrays, ")) << text;
  expect_mentions(text, {"CRC-32C", (folder / "c.h5").string()});
  EXPECT_EQ(count_lines(text), 1u);
}

// Changes one byte of HDF5's structures, of an attribute or of an array.
TEST(CheckpointProgram, VerifyFindsOneChangedByte) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  const std::string intact = slurp(folder / "c.h5");
  for (const size_t at : {size_t{600}, intact.size() / 2, intact.size() - 1}) {
    std::string damaged = intact;
    damaged[at] ^= 1;
    spill(folder / "damaged.h5", damaged);
    expect_error(run({"verify", folder / "damaged.h5"}), {"damaged.h5", "checksum"});
  }
  std::string renamed = intact;
  renamed[renamed.find("point")] = 'j';
  spill(folder / "renamed.h5", renamed);
  expect_error(run({"verify", folder / "renamed.h5"}), {"renamed.h5", "damaged"});
}

TEST(CheckpointProgram, RefusesBadFilesWithOneLine) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  spill(folder / "cut.h5", slurp(folder / "c.h5").substr(0, 3000));
  for (const std::string file : {folder / "cut.h5", folder / "missing.h5"})
    for (const char* command : {"show", "verify"}) expect_error(run({command, file}), {file});
}

TEST(CheckpointProgram, ExplainsItsUsage) {
  expect_mentions(expect_exit(run({"--help"}), 0).out, {"CRC-32C"});
  EXPECT_TRUE(expect_exit(run({}), 2).err.starts_with("usage: drl_checkpoint"));
  EXPECT_EQ(count_lines(expect_exit(run({"shw", "file"}), 2).err), 1u);
  expect_exit(run({"show"}), 2);
}

}  // namespace
}  // namespace drl

// Runs the program drl_checkpoint.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "samples.hpp"

namespace drl {
namespace {

// Exit code, and standard output and error in one text.
struct Outcome {
  int exit_code;
  std::string text;
};

Outcome run(const std::string& arguments) {
  Words words = {bin("drl_checkpoint")};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  const Result result = run_program(words);
  return {result.exit_code, result.out + result.err};
}

bool one_line(const std::string& text) { return text.find('\n') == text.size() - 1; }

TEST(CheckpointProgram, ShowsTheWholeContent) {
  const TempFolder folder;
  Checkpoint checkpoint = small_checkpoint();
  checkpoint.attributes["env_steps"] = int64_t{19660800};
  checkpoint.attributes["options"] = std::string("num_envs = 512\n[ppo]\n");
  checkpoint.attributes["zebra"] = 0.25;
  write_checkpoint(folder / "c.h5", checkpoint);
  const Outcome result = run("show " + (folder / "c.h5").string());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.text, (folder / "c.h5").string() + R"(
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
  const Outcome result = run("verify " + (folder / "c.h5").string());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.text.starts_with("ok: 2 arrays, ")) << result.text;
  expect_mentions(result.text, {"CRC-32C", (folder / "c.h5").string()});
  EXPECT_TRUE(one_line(result.text));
  expect_mentions(run("--help").text, {"CRC-32C"});
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
    const Outcome result = run("verify " + (folder / "damaged.h5").string());
    EXPECT_EQ(result.exit_code, 2);
    expect_mentions(result.text, {"error: ", "damaged.h5", "checksum"});
  }
}

TEST(CheckpointProgram, RefusesBadFilesWithOneLine) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  spill(folder / "cut.h5", slurp(folder / "c.h5").substr(0, 3000));
  for (const std::filesystem::path& file : {folder / "cut.h5", folder / "missing.h5"}) {
    for (const char* command : {"show ", "verify "}) {
      const Outcome result = run(command + file.string());
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_TRUE(one_line(result.text) && result.text.starts_with("error: ")) << result.text;
    }
  }
}

TEST(CheckpointProgram, ExplainsItsUsage) {
  EXPECT_EQ(run("--help").exit_code, 0);
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_TRUE(run("").text.starts_with("usage: drl_checkpoint"));
  EXPECT_EQ(run("shw file").exit_code, 2);
  EXPECT_TRUE(one_line(run("shw file").text));
  EXPECT_EQ(run("show").exit_code, 2);
}

}  // namespace
}  // namespace drl

// Tests the record of the contents of files that options name, and their comparison between ranks.
#include "run/option_files.hpp"

#include <gtest/gtest.h>

#include "../mpi_main.hpp"
#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

using test::world;

// The hashes are the last 48 bits of FNV-1a's published values for "", "a" and "foobar".
TEST(OptionFilesOnRanks, AreHashedWhole) {
  const TempFolder folder;
  const std::string file = (folder / "a file").string();
  for (const auto& [text, hash] : {std::pair{"", "9ce484222325"}, {"a", "dc4c8601ec8c"}, {"foobar", "4171f73967e8"}}) {
    spill(file, text);
    EXPECT_EQ(contents_of({{"env.motion", file}}), std::string("env.motion ") + hash + " " + file + "\n");
  }
  // Files are read in parts of 1 MiB.
  std::string large((size_t{2} << 20) + 5, 'x');
  spill(file, large);
  const std::string before = contents_of({{"env.motion", file}});
  large.back() = 'y';
  spill(file, large);
  EXPECT_EQ(changed_files(before, contents_of({{"env.motion", file}})).size(), 1u);
  EXPECT_EQ(contents_of({}), "");
  EXPECT_THROW(contents_of({{"env.motion", "/nowhere/a file"}}), UsageError);
  EXPECT_THROW(contents_of({{"env.motion", folder.path().string()}}), UsageError);
}

TEST(OptionFilesOnRanks, DifferIfOptionAndPathAreTheSame) {
  const std::string then = "env.a 111111111111 /x y\nenv.b 222222222222 /z\n";
  EXPECT_TRUE(changed_files(then, then).empty());
  EXPECT_TRUE(changed_files(then, "env.a 333333333333 /other\n").empty()) << "the user gave another file";
  EXPECT_TRUE(changed_files("", then).empty());
  const auto changed = changed_files(then, "env.b 222222222222 /z\nenv.a 333333333333 /x y\n");
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].option, "env.a");
  EXPECT_EQ(changed[0].path, "/x y");
  EXPECT_EQ(changed[0].then, "111111111111");
  EXPECT_EQ(changed[0].now, "333333333333");
}

TEST(OptionFilesOnRanks, MustBeThoseOfTheCheckpoint) {
  Checkpoint checkpoint;
  const std::string now = "env.motion 333333333333 /m.h5\n";
  EXPECT_NO_THROW(require_contents_of(checkpoint, "iter_000010.h5", now)) << "of an earlier version";
  checkpoint.attributes["files"] = now;
  EXPECT_NO_THROW(require_contents_of(checkpoint, "iter_000010.h5", now));
  expect_mentions(error_from<UsageError>(
                      [&] { require_contents_of(checkpoint, "iter_000010.h5", "env.motion 444444444444 /m.h5\n"); }),
                  {"--env.motion", "/m.h5", "333333333333", "444444444444", "iter_000010.h5"});
}

// The options of two runs, the hashes of their files, and whether saved environments continue.
TEST(OptionFilesOnRanks, ChangeTheStateOfEnvironmentsByTheirContents) {
  struct Task {
    std::string motion = "/now.h5", ground = "rough", noise = "1";
    void describe(OptionVisitor& v) {
      v("motion", motion, "a file", as_path, changes_env_state);
      v("ground", ground, "no file", changes_env_state);
      v("noise", noise, "environments continue with another value");
    }
  } task;
  OptionTable table;
  table.section("env", "Environment", task);
  const auto changes = [&](const std::string& options, const std::string& then, const std::string& now) {
    return join(changes_of_env_state(table, now, {options, then, "c.h5"}), "; ");
  };
  const std::string a = "env.motion aaaaaaaaaaaa ", b = "env.motion bbbbbbbbbbbb ",
                    moved = "[env]\nmotion = /then.h5\n";
  EXPECT_EQ(changes("", "", ""), "") << "equal";
  EXPECT_EQ(changes("[env]\nnoise = 2\n", "", ""), "");
  EXPECT_EQ(changes(moved, a + "/then.h5\n", a + "/now.h5\n"), "") << "the same file at another path";
  expect_mentions(changes(moved, a + "/then.h5\n", b + "/now.h5\n"), {"--env.motion", "/now.h5", "/then.h5"});
  expect_mentions(changes(moved, "", a + "/now.h5\n"), {"--env.motion"});  // of an earlier version
  expect_mentions(changes("[env]\nmotion = none\nground = flat\n", "", a + "/now.h5\n"),
                  {"--env.motion", "none", "--env.ground is rough, not flat"});
}

TEST(OptionFilesOnRanks, AreComparedBetweenRanks) {
  const std::string mine = "env.motion 33333333333" + std::to_string(world().rank()) + " /m.h5\n";
  EXPECT_NO_THROW(require_same_contents(world(), "env.motion 333333333333 /m.h5\n"));
  EXPECT_NO_THROW(require_same_contents(world(), ""));
  if (world().size() == 1) return;
  try {
    require_same_contents(world(), mine);
    ADD_FAILURE();
  } catch (const ReportedError& error) {
    EXPECT_EQ(error.exit_code(), 2);
  }
}

}  // namespace
}  // namespace drl

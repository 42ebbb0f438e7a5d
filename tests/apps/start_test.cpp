// Starts runs from a checkpoint or from its weights, on one and two ranks.
#include <pwd.h>

#include "comm/mpi_library.hpp"
#include "programs.hpp"

namespace drl::test {
namespace {

DRL_ON_RANKS(Start);

TEST_P(Start, CheckpointStartsANewRunFromTheWholeState) {
  const Runs runs;
  for (int n : {3, 5}) ASSERT_EQ(runs.train("--run_name whole"_words + iterations_of(n)).exit_code, 0);
  const std::string file = checkpoint_file(runs.run("whole"), 3);
  expect_exit(runs.train(Words{"--run_name", "from", "--checkpoint", file} + iterations_of(5)), 0);
  EXPECT_EQ(datasets(checkpoint_file(runs.run("from"), 5)), datasets(checkpoint_file(runs.run("whole"), 5)));
  EXPECT_EQ(iterations(runs.run("from")), (std::vector<int>{4, 5}));
  const Result again = runs.train(Words{"--run_name", "from", "--checkpoint", file} + iterations_of(5));
  EXPECT_EQ(again.exit_code, 2) << "it would overwrite a run";
}

// --- A launcher that fails by itself ---

const Words kTwoRanks = "--ranks 2 --max_iterations 1 --run_name r"_words;

// MPI's own processes cannot agree on a transport layer of this name. No rank has begun, so there is no checkpoint.
TEST(LauncherOnTwoRanks, ThatFailsIsNamedWithWhatToLookAt) {
  if (!is_open_mpi()) GTEST_SKIP() << "the variable is Open MPI's";
  const Runs runs;
  const Result result = run_program(runs.command(kTwoRanks), {{"OMPI_MCA_btl", "nothing"}});
  EXPECT_NE(result.exit_code, 0);
  expect_mentions(result.err, {"error: Open MPI could not start the ranks", "TMPDIR", "HOME", "OMPI_MCA_btl=nothing"});
  EXPECT_EQ(result.err.find("--load_run"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(runs.run("r")));
}

TEST(LauncherOnTwoRanks, GetsAnotherDirectoryIfTmpdirIsNone) {
  const Runs runs;
  const TempFolder folder;
  spill(folder / "file", "");
  const std::string file = folder / "file";
  expect_exit(run_program(runs.command(kTwoRanks), {{"TMPDIR", file}}), 0, {"warning: ", file});
}

// Open MPI 4 crashes without a home directory, which a container that is started with a number as its user has not.
TEST(LauncherOnTwoRanks, StartsWithoutAHomeDirectory) {
  constexpr uid_t kUnknown = 54321;
  if (geteuid() != 0 || getpwuid(kUnknown)) GTEST_SKIP() << "needs root, and a user without a name";
  const Runs runs;
  fs::create_directories(runs.path());
  fs::permissions(runs.path(), fs::perms::all);
  for (fs::path at = runs.path(); at != fs::temp_directory_path() && at.has_relative_path(); at = at.parent_path())
    fs::permissions(at, fs::perms::others_exec, fs::perm_options::add);
  const Result result = run_program(runs.command(kTwoRanks), {}, [] {
    for (const char* name : {"HOME", "USER", "LOGNAME"}) ::unsetenv(name);
    if (::setgid(kUnknown) != 0 || ::setuid(kUnknown) != 0) ::_exit(99);
  });
  if (result.exit_code == 127) GTEST_SKIP() << "other users cannot execute the program";
  expect_exit(result, 0);
}

}  // namespace
}  // namespace drl::test

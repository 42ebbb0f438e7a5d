// Starts runs from a checkpoint or from its weights, on one and two ranks.
#include <pwd.h>

#include "comm/mpi_library.hpp"
#include "programs.hpp"

namespace drl::test {
namespace {

DRL_ON_RANKS(Start);

TEST_P(Start, SkipsADamagedCheckpoint) {
  const Runs runs;
  for (int n : {2, 4}) ASSERT_EQ(runs.train("--run_name r"_words + iterations_of(n)).exit_code, 0);
  const fs::path newest = checkpoint_file(runs.run("r"), 4);
  const std::vector<Tensor> as_it_was = datasets(newest);
  spill(newest, slurp(newest).substr(0, 5000));
  expect_exit(runs.train("--run_name r"_words + iterations_of(4)), 0, {"warning: ", newest.string(), "truncated"});
  EXPECT_EQ(datasets(newest), as_it_was);
  EXPECT_EQ(iterations(runs.run("r")), count_to(4));
}

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

TEST_P(Start, InitFromLoadsOnlyWeightsAndNormaliser) {
  const Runs runs;
  const Words normalised = "--ppo.obs_normalization true"_words;
  expect_exit(runs.train(normalised + "--run_name teacher"_words + iterations_of(3)), 0);
  const fs::path file = checkpoint_file(runs.run("teacher"), 3);
  // A learning rate of 1e-30 changes no weight, so the loaded weights are still the same after an iteration.
  expect_exit(runs.train(normalised +
                         Words{"--run_name", "pupil", "--init_from", file, "--ppo.schedule", "fixed",
                               "--ppo.learning_rate", "1e-30"} +
                         iterations_of(1)),
              0);
  EXPECT_EQ(iterations(runs.run("pupil")), count_to(1));
  const Checkpoint teacher = read_checkpoint(file), pupil = read_checkpoint(checkpoint_file(runs.run("pupil"), 1));
  EXPECT_EQ(std::get<int64_t>(pupil.attributes.at("env_steps")), 16 * 4 * rank_count);
  for (const Tensor& tensor : teacher.tensors)
    if (tensor.name.starts_with("policy/") && !tensor.name.starts_with("policy/normalizer/")) {  // it goes on
      EXPECT_EQ(*pupil.find(tensor.name), tensor) << tensor.name;
    }
  const auto count = [](const Checkpoint& c) {
    return *reinterpret_cast<const double*>(c.find("normalizer/obs/count")->data.data());
  };
  EXPECT_EQ(count(teacher), 3 * 64 * rank_count);
  EXPECT_EQ(count(pupil), 4 * 64 * rank_count);
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

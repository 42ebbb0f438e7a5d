// Starts runs from a checkpoint or from its weights, on one and two ranks.
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

}  // namespace
}  // namespace drl::test

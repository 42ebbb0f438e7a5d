// Tests placement, learner and loading on 1 and 2 ranks.
#include "apps/loading.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../../mpi_main.hpp"
#include "../../support/mentions.hpp"
#include "../../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "run/state.hpp"
#include "steps.hpp"

namespace drl {
namespace {

using test::settings_of;
using test::world;

TEST(WorkplaceOnRanks, ListsHostsOnceInTheOrderOfTheirRanks) {
  Workplace place;
  place.rank_hosts = {"b", "a", "b", "c", "a"};
  EXPECT_EQ(place.hosts(), (std::vector<std::string>{"b", "a", "c"}));
}

TEST(WorkplaceOnRanks, UsesTheLowestInstructionSetOfAllRanks) {
  const Isa best = available_isas().back(), least = available_isas().front();
  EXPECT_EQ(common_isa(world(), "auto"), best);
  EXPECT_EQ(common_isa(world(), std::string(world().rank() == 0 ? "auto" : name_of(least))),
            world().size() == 1 ? best : least);
  EXPECT_THROW(common_isa(world(), "no such"), Error);
}

TEST(WorkplaceOnRanks, OnACpuHasNoGpu) {
  const LaunchInfo launch{"", world().rank(), world().size()};
  const Workplace place = find_workplace({.device = "cpu"}, "auto", launch, world());
  EXPECT_EQ(place.placement.gpu, -1);
  EXPECT_EQ(place.gpu_model, "");
  EXPECT_EQ(place.world_size, world().size());
  EXPECT_EQ(place.rank_hosts.size(), world().rank() == 0 ? static_cast<size_t>(world().size()) : 0);
  if (world().rank() == 0) {
    EXPECT_EQ(place.hosts().size(), 1u);
  }
}

// A run whose learner and trainer have been created.
struct TestRun {
  explicit TestRun(std::vector<std::string> words = {})
      : settings(settings_of(std::move(words))),
        learner(settings->options, place, world()),
        trainer(settings->options.train, settings->options.run, learner.algorithm(), learner.task(), learner.comm(),
                [] { return 0.0; }) {
    broadcast_state(trainer.state(), world());
    learner.algorithm().state_changed();
    facts.cpu_model = "a CPU", facts.git_hash = "abc", facts.versions = {{"drl", "1"}};
    facts.world_size = world().size();
  }

  // Collective. Rank 0 writes the checkpoint.
  void save(const std::filesystem::path& file) {
    Checkpoint checkpoint{{{"task", settings->options.train.task},
                           {"options", settings->table.to_ini()},
                           {"iteration", trainer.iteration()},
                           {"elapsed_seconds", 12.5},
                           {"cpu_model", facts.cpu_model},
                           {"git_hash", facts.git_hash},
                           {"versions", versions_text(facts)},
                           {"world_size", int64_t{facts.world_size}}},
                          gather_state(trainer.state(), world())};
    if (world().rank() == 0) write_checkpoint(file, checkpoint);
  }
  // Returns the messages of rank 0, and "thrown" after an Error.
  std::string load(RunStart& start) {
    std::string messages;
    log::init(world().rank(), world().size(), "host", false);
    log::set_writer([&](std::string_view line) { messages += line; });
    try {
      load_start(start, {*settings, facts, trainer, learner.algorithm(), learner.policy()}, world());
    } catch (const Error&) {
      messages += "thrown";
    }
    log::set_writer({});
    return messages;
  }
  // Hashes of the replicated fields.
  StateHashes state() const { return hash_state(trainer.state()); }
  StateHashes policy() const { return hash_state(policy_state(trainer.state())); }

  std::unique_ptr<RunPlan> settings;
  Workplace place = test::plain_workplace(world().size());
  Learner learner;
  Trainer trainer;
  RunFacts facts;
};

// Returns the start on rank 0, and an empty one on other ranks.
RunStart start_from(StartFrom from, const std::vector<std::filesystem::path>& checkpoints) {
  RunStart start;
  if (world().rank() == 0) start.from = from, start.checkpoints = checkpoints;
  return start;
}

class LoadingOnRanks : public testing::Test {
 protected:
  LoadingOnRanks() {
    EXPECT_EQ(old.trainer.run(nullptr), kDone);
    old.save(folder / "old.h5");
  }

  TempFolder folder;
  TestRun old{{"--max_iterations", "2"}};
};

TEST_F(LoadingOnRanks, FromScratchChangesNothing) {
  TestRun run;
  const StateHashes before = run.state();
  RunStart start = start_from(StartFrom::scratch, {});
  EXPECT_EQ(run.load(start), "");
  EXPECT_EQ(run.state(), before);
}

TEST_F(LoadingOnRanks, ResumeLoadsTheWholeState) {
  TestRun run;
  RunStart start = start_from(StartFrom::resume, {folder / "old.h5"});
  EXPECT_NE(run.state(), old.state());
  EXPECT_EQ(run.load(start), "");
  EXPECT_EQ(run.state(), old.state());
  EXPECT_EQ(run.trainer.iteration(), 2);
  if (world().rank() == 0) {
    EXPECT_GE(run.trainer.metrics().value("elapsed_time"), 12.5);
  }
}

TEST_F(LoadingOnRanks, EnvironmentsBeginAnewWithTheTrueReason) {
  const std::string envs = std::to_string(old.settings->options.train.num_envs * world().size());
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> changes = {
      {{"--env.delay.action", "2"}, {"--env.delay.action is 2, not 0"}},
      {{"--env.delay.observation_hold", "0.5"}, {"--env.delay.observation_hold is 0.5, not 0"}},
      {{"--num_envs", "48"}, {envs + " environments", std::to_string(48 * world().size())}}};
  for (const auto& [words, texts] : changes) {
    SCOPED_TRACE(words[0]);
    TestRun run(words);
    const auto environments = [&] {
      std::vector<std::vector<std::byte>> all;
      for (const StateField& field : run.trainer.state())
        if (field.sharding == Sharding::per_env) all.push_back(field.read());
      return all;
    };
    const auto before = environments();
    RunStart start = start_from(StartFrom::resume, {folder / "old.h5"});
    const std::string messages = run.load(start);
    EXPECT_EQ(run.trainer.iteration(), 2);
    EXPECT_EQ(run.policy(), old.policy());
    EXPECT_EQ(environments(), before);
    if (world().rank() > 0) continue;
    EXPECT_EQ(std::ranges::count(messages, '\n'), 1) << messages;
    expect_mentions(messages, {"warning: ", "new episodes"});
    for (const std::string& text : texts) expect_mentions(messages, {text});
  }
}

TEST_F(LoadingOnRanks, InitFromLoadsOnlyThePolicy) {
  TestRun run;
  RunStart start = start_from(StartFrom::weights, {folder / "old.h5"});
  EXPECT_EQ(run.load(start), "");
  EXPECT_EQ(run.policy(), old.policy());
  EXPECT_EQ(run.trainer.iteration(), 0);
}

TEST_F(LoadingOnRanks, SkipsADamagedCheckpoint) {
  if (world().rank() == 0) spill(folder / "newest.h5", slurp(folder / "old.h5").substr(0, 3000));
  TestRun run;
  RunStart start = start_from(StartFrom::resume, {folder / "newest.h5", folder / "old.h5"});
  const std::string messages = run.load(start);
  EXPECT_EQ(run.state(), old.state());
  if (world().rank() > 0) return;
  expect_mentions(messages, {"warning: ", (folder / "newest.h5").string(), "using " + (folder / "old.h5").string()});
  EXPECT_EQ(start.damaged, std::vector<std::filesystem::path>{folder / "newest.h5"});
}

// A learning rate that was changed replaces the saved one.
TEST_F(LoadingOnRanks, UsesAChangedLearningRate) {
  TestRun same, other({"--ppo.learning_rate", "0.5"});
  RunStart start = start_from(StartFrom::resume, {folder / "old.h5"});
  same.load(start);
  other.load(start);
  EXPECT_EQ(same.learner.algorithm().metrics().size(), other.learner.algorithm().metrics().size());
  const auto rate = [](const TestRun& run) {
    const StateList& state = run.trainer.state();
    const auto field = std::ranges::find(state, "optimizer/learning_rate", &StateField::name);
    return field->read();
  };
  EXPECT_EQ(rate(same), rate(old));
  const double half = 0.5;
  const auto expected = std::as_bytes(std::span(&half, 1));
  EXPECT_TRUE(std::ranges::equal(rate(other), expected));
}

TEST_F(LoadingOnRanks, RefusesAnotherTaskOrAlgorithm) {
  TestRun task({"--task", "Pendulum-v1"}),
      algorithm({"--algorithm", "grpo", "--num_steps_per_env", "500", "--grpo.group_size", "4"});
  RunStart start = start_from(StartFrom::checkpoint, {folder / "old.h5"});
  const std::string of_task = task.load(start), of_algorithm = algorithm.load(start), file = folder / "old.h5";
  EXPECT_TRUE(of_task.ends_with("thrown"));
  EXPECT_TRUE(of_algorithm.ends_with("thrown"));
  if (world().rank() > 0) return;
  expect_mentions(of_task, {file, "CartPole-v1", "Pendulum-v1", "--task CartPole-v1"});
  expect_mentions(of_algorithm, {file, "ppo", "grpo", "--algorithm ppo"});
}

TEST_F(LoadingOnRanks, ReportsAChangedPlatform) {
  TestRun run;
  run.facts.cpu_model = "another CPU";
  run.facts.versions["drl"] = "2";
  RunStart start = start_from(StartFrom::resume, {folder / "old.h5"});
  const std::string messages = run.load(start);
  if (world().rank() == 0) {
    expect_mentions(messages, {"cpu_model: a CPU -> another CPU", "versions: drl 1 -> drl 2"});
  }
}

// The run had three times as many ranks, with as many environments each.
TEST_F(LoadingOnRanks, WarnsOfAnotherNumberOfEnvironments) {
  const int ranks = world().size();
  old.facts.world_size = 3 * ranks;
  old.save(folder / "old.h5");
  const std::string per_rank = old.settings->table.find("num_envs").value();
  const std::string total = std::to_string(3 * ranks * std::stoi(per_rank));
  TestRun same, chosen({"--num_envs_total", std::to_string(ranks * std::stoi(per_rank))});
  for (TestRun* run : {&same, &chosen}) {
    RunStart start = start_from(StartFrom::resume, {folder / "old.h5"});
    const std::string messages = run->load(start);
    if (world().rank() > 0) continue;
    const bool warns = messages.find("--num_envs_total " + total) != std::string::npos;
    EXPECT_EQ(warns, run == &same) << messages;
    if (warns) expect_mentions(messages, {"--ranks " + std::to_string(3 * ranks)});
  }
}

TEST(ChangedPlatformOnRanks, ListsDifferencesAndMissingAttributes) {
  RunFacts now;
  now.cpu_model = "c", now.git_hash = "g", now.versions = {{"drl", "1"}}, now.world_size = 2;
  EXPECT_EQ(changed_platform({}, now),
            (std::vector<std::string>{"cpu_model: not known -> c", "git_hash: not known -> g",
                                      "versions: not known -> drl 1", "world_size: not known -> 2"}));
  EXPECT_EQ(changed_platform({{{"cpu_model", std::string("c")},
                               {"git_hash", std::string("g")},
                               {"versions", std::string("drl 1")},
                               {"world_size", int64_t{4}}},
                              {}},
                             now),
            std::vector<std::string>{"world_size: 4 -> 2"});
  RunFacts model;
  model.cpu_model = "c", model.git_hash = "g";
  model.versions = {{"drl", "1"}, {"model", "b (2)"}, {"mpi", "M"}};
  EXPECT_EQ(changed_platform({{{"cpu_model", std::string("c")},
                               {"git_hash", std::string("g")},
                               {"versions", std::string("drl 1, isa x, model a (1), mpi M")},
                               {"world_size", int64_t{1}}},
                              {}},
                             model),
            std::vector<std::string>{"versions: isa x, model a (1) -> model b (2)"});
}

// The return of an episode of CartPole-v1 is its length, 1 to 500. The mean of 64 is a multiple of 1/64.
TEST(LearnerOnRanks, EvaluatesWholeEpisodes) {
  TestRun run;
  const double mean = run.learner.evaluate();
  EXPECT_GE(mean, 1);
  EXPECT_LE(mean, 500);
  EXPECT_EQ(mean * 64, std::floor(mean * 64));
  EXPECT_EQ(run.learner.evaluate(), mean) << "initial states depend only on the seed";
}

TEST(LearnerOnRanks, RefusesInvalidOptionsOnAllRanks) {
  const auto settings = settings_of({"--ppo.num_mini_batches", "1000"});
  const Workplace place = test::plain_workplace(world().size());
  EXPECT_THROW(Learner(settings->options, place, world()), Error);
}

}  // namespace
}  // namespace drl

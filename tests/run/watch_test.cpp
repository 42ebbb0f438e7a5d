// An environment that is watched plays what it plays in an evaluation.
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "envs/make_env.hpp"
#include "nets/fused/fused_nets.hpp"
#include "own_task_table.hpp"
#include "run/evaluator.hpp"
#include "run/train_options.hpp"

namespace drl {
namespace {

struct Untrained {
  explicit Untrained(const std::string& task) {
    Options options;
    options.policy.actor_hidden_dims = options.policy.critic_hidden_dims = {8};
    spec = options.algorithm().networks(task_spec(task), options.policy);
    nets = make_fused_nets(*queue, spec.layout, 1);
    params.resize(static_cast<size_t>(spec.layout.size()));
    initialize_parameters(spec, options.policy, 5, params);
  }
  PlayedPolicy played() { return {*queue, *nets, spec, params.data(), normalizer.view()}; }

  std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  ActorCritic spec;
  std::unique_ptr<Nets> nets;
  std::vector<float> params;
  Normalizer normalizer{*queue, 0, {}};
};

// CartPole gives 1 a step, so that in an episode the reward is its age.
TEST(Watch, SeesTheEpisodesOfAnEvaluation) {
  Untrained policy("CartPole-v1");
  const EvaluationPlan plan{"CartPole-v1", 5, 1, 3, ActionChoice::sample};
  const Evaluation evaluation = evaluate(plan, policy.played());
  std::vector<int64_t> lengths;
  Moment before;
  int64_t seen = 0;
  watch(plan, policy.played(), [&](VecEnv& envs, const Moment& now) {
    EXPECT_EQ(envs.num_envs(), 1);
    EXPECT_EQ(now.step, seen++);
    EXPECT_EQ(now.reward, static_cast<double>(now.age));
    EXPECT_EQ(now.episode, static_cast<int64_t>(lengths.size()) + (now.step > 0 && now.age == 0));
    if (now.step > 0 && now.age == 0) lengths.push_back(before.age + 1);
    before = now;
    return lengths.size() < 5;
  });
  EXPECT_EQ(lengths, evaluation.lengths);
}

// Of which one says how many steps an episode has (tests/envs/ladder_task.hpp).
TEST(Watch, PlaysWithTheCurriculumsNumbers) {
  register_test_tasks();
  Untrained policy("Ladder");
  EvaluationPlan plan{"Ladder", 1, 1, 3, ActionChoice::sample};
  for (const int length : {3, 6}) {
    plan.curriculum = {static_cast<float>(length), 0};
    int64_t steps = 0;
    watch(plan, policy.played(), [&](VecEnv&, const Moment& now) { return steps = now.step, now.episode == 0; });
    EXPECT_EQ(steps, length);
  }
}

}  // namespace
}  // namespace drl

// watch() plays the same episodes as evaluate().
#include <gtest/gtest.h>

#include "envs/make_env.hpp"
#include "nets/fused/fused_nets.hpp"
#include "own_task_table.hpp"
#include "policy/initialize.hpp"
#include "run/evaluator.hpp"
#include "run/train_options.hpp"

namespace drl {
namespace {

struct Untrained {
  explicit Untrained(const std::string& task) {
    Options options;
    options.policy.actor_hidden_dims = options.policy.critic_hidden_dims = {8};
    spec = options.algorithm().policy(task_spec(task), options.policy);
    nets = make_fused_nets(*queue, spec.layout, 1);
    params.resize(static_cast<size_t>(spec.layout.size()));
    initialize_parameters(spec, options.policy, 5, params);
    actor.emplace(*queue, *nets, spec, params.data(), NormalizerView{});
  }

  std::unique_ptr<Queue> queue = make_host_queue(available_isas().back());
  PolicySpec spec;
  std::unique_ptr<Nets> nets;
  std::vector<float> params;
  std::optional<Actor> actor;
};

// CartPole gives reward 1 per step, so the sum of rewards equals the age of the episode.
TEST(Watch, PlaysTheEpisodesOfAnEvaluation) {
  Untrained policy("CartPole-v1");
  const EvaluationPlan plan{"CartPole-v1", 5, 1, 3, ActionChoice::sample};
  const Evaluation evaluation = evaluate(plan, *policy.actor);
  std::vector<int64_t> lengths;
  Moment before;
  int64_t seen = 0;
  watch(plan, *policy.actor, [&](VecEnv& envs, const Moment& now) {
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

// The first curriculum value is the number of steps of an episode (tests/envs/ladder_task.hpp).
TEST(Watch, UsesTheCurriculumOfThePlan) {
  register_test_tasks();
  Untrained policy("Ladder");
  EvaluationPlan plan{"Ladder", 1, 1, 3, ActionChoice::sample};
  for (const int length : {3, 6}) {
    plan.curriculum = {static_cast<float>(length), 0};
    int64_t steps = 0;
    watch(plan, *policy.actor, [&](VecEnv&, const Moment& now) { return steps = now.step, now.episode == 0; });
    EXPECT_EQ(steps, length);
  }
}

}  // namespace
}  // namespace drl

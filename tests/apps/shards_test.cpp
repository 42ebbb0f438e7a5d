// With --deterministic_shards, results do not depend on the number of ranks, to the bit.
#include "programs.hpp"

namespace drl::test {
namespace {

using Case = TrainingCase;

class Shards : public testing::TestWithParam<Case> {
 protected:
  std::vector<Tensor> train(const std::string& run, int ranks, int iterations) const {
    const Ranks number(ranks);
    expect_exit(runs.train(GetParam().options + iterations_of(iterations) +
                           Words{"--run_name", run, "--deterministic_shards", "4", "--num_envs_total", "32"}),
                0);
    return datasets(checkpoint_file(runs.run(run), iterations));
  }
  const Runs runs{GetParam().task};
};

// Four ranks on the cores of two, so that they take turns.
TEST_P(Shards, OnTwoRanksAndFourLearnTheBitsOfOneRank) {
  const std::vector<Tensor> whole = train("one", 1, 8);
  EXPECT_EQ(train("two", 2, 8), whole);
  EXPECT_EQ(train("four", 4, 8), whole);
  EXPECT_EQ(metrics(runs.run("two")), metrics(runs.run("one")));
  train("changing", 1, 3);
  train("changing", 4, 6);
  EXPECT_EQ(train("changing", 2, 8), whole);
}

const Words kSmall = "--policy.actor_hidden_dims 16 --policy.critic_hidden_dims 16"_words;

INSTANTIATE_TEST_SUITE_P(
    Algorithms, Shards,
    testing::Values(Case{"Ppo", "Cartpole", {"--ppo.obs_normalization", "true"}},
                    Case{"EveryOption", "Pendulum-v1",
                         "--ppo.obs_normalization --ppo.reward_normalization --ppo.normalize_advantage_per_mini_batch "
                         "--ppo.rnd.weight 1 --ppo.rnd.state_normalization --policy.layer_norm true"_words},
                    Case{"Recurrent", "CartPole-v1",
                         "--policy.rnn_type lstm --policy.rnn_hidden_dim 8 --ppo.num_mini_batches 2"_words},
                    Case{"Grpo", "Pendulum-v1", "--algorithm grpo --grpo.group_size 4 --grpo.num_mini_batches 2"_words},
                    Case{"Sac", "Pendulum-v1",
                         kSmall + "--algorithm sac --num_steps_per_env 10 --sac.batch_size 32 --sac.replay_size 960 "
                                  "--sac.learning_starts 100 --sac.obs_normalization --sac.reward_normalization"_words},
                    Case{"Distill", "Pendulum-v1",
                         "--algorithm distill --teacher pretrained/Pendulum-v1 --env.hidden_obs theta_dot "
                         "--policy.rnn_type gru --policy.rnn_hidden_dim 8 --distill.gradient_length 4"_words}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name + "OnTwoRanks"; });

#if defined(DRL_MUJOCO)
INSTANTIATE_TEST_SUITE_P(Robots, Shards, testing::Values(Case{"LanesOnTwoRanks", "HalfCheetah-v5", kSmall}),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });
#endif

}  // namespace
}  // namespace drl::test

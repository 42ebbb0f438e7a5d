// Compares the first three iterations of each task with those of release 0.1.0, which used Debian's libtorch and
// separate code for host and GPU.
#include <algorithm>
#include <cmath>

#include "programs.hpp"

namespace drl::test {
namespace {

constexpr const char* kMetrics[] = {"mean_reward", "value_loss", "surrogate_loss", "entropy", "kl", "gradient_norm"};

struct Recorded {
  const char* task;
  double iterations[3][std::size(kMetrics)];
};
const Recorded kRecorded[] = {{"Cartpole",
                               {{NAN, 0.4903663, -0.002683719, 1.197312, 0.006406267, 2.663678},
                                {0.4440299, 6.231795, 0.002564717, 1.196984, 0.002738174, 5.625383},
                                {-10.56639, 36.31925, -0.001282072, 1.212116, 0.001067928, 7.215002}}},
                              {"CartPole-v1",
                               {{19.29091, 0.6223558, -0.004133101, 0.6886316, 0.004668938, 1.948161},
                                {22.41129, 0.5159762, -0.003275972, 0.6633685, 0.006281218, 1.209803},
                                {28.32117, 0.2720759, -0.009255245, 0.6509531, 0.007360225, 0.9813367}}},
                              {"Pendulum-v1",
                               {{NAN, 59.61785, -0.0006556188, 1.197239, 0.003215875, 18.08355},
                                {NAN, 53.27853, 0.0009283485, 1.198175, 0.001737771, 8.422778},
                                {NAN, 51.19127, 8.18327e-07, 1.186209, 0.0004324987, 9.115138}}},
                              {"Acrobot-v1",
                               {{NAN, 0.8668962, -0.001160688, 1.095793, 0.002858276, 2.751459},
                                {NAN, 5.726576, -0.001759759, 1.070612, 0.005586494, 6.480855},
                                {NAN, 2.157915, -0.002808136, 1.030313, 0.009025514, 3.040225}}},
                              {"MountainCar-v0",
                               {{NAN, 1.059342, 4.610745e-05, 1.097941, 0.0006635861, 2.362982},
                                {NAN, 0.673029, -0.001654176, 1.085257, 0.005597444, 1.308843},
                                {NAN, 0.3972583, 0.0007181957, 1.093813, 0.001583528, 1.660002}}},
                              {"MountainCarContinuous-v0",
                               {{NAN, 0.001163082, -0.003437015, 1.185722, 0.001381131, 0.2600825},
                                {NAN, 0.0008538459, -0.0059441, 1.123017, 0.004270415, 0.1743268},
                                {NAN, 0.0004802591, -0.006140705, 1.051866, 0.001874014, 0.2014257}}}};

class FirstIterations : public ::testing::TestWithParam<Recorded> {};

TEST_P(FirstIterations, EqualThoseOfRelease010) {
  const Recorded& recorded = GetParam();
  const Runs runs(recorded.task);
  Words command = Words{kTrain, "--task", recorded.task, "--runs_dir", runs.path()} +
                  "--quiet --threads 1 --run_name r --device cpu --max_iterations 3 --num_envs 32 "
                  "--num_steps_per_env 64 --seed 3 --policy.actor_hidden_dims 32,32 --policy.critic_hidden_dims 32,32 "
                  "--policy.activation elu --policy.init orthogonal --policy.init_std 0.8 --policy.std_type log "
                  "--ppo.learning_rate 1e-3 --ppo.schedule adaptive --ppo.desired_kl 0.01 --ppo.num_learning_epochs 2 "
                  "--ppo.num_mini_batches 4 --ppo.gamma 0.98 --ppo.lam 0.95 --ppo.clip_param 0.2 "
                  "--ppo.use_clipped_value_loss true --ppo.value_clip 0.2 --ppo.value_loss_coef 1 "
                  "--ppo.entropy_coef 0.01 --ppo.max_grad_norm 1 --ppo.reward_scale 0.1 "
                  "--ppo.obs_normalization_eps 1e-8 --ppo.obs_normalization_clip 0"_words;
  // The older release had epsilon under the square root. The difference matters where an observation hardly varies,
  // such as the velocity of MountainCar.
  const bool is_car = std::string_view(recorded.task).starts_with("MountainCar");
  command.push_back(is_car ? "--ppo.obs_normalization=false" : "--ppo.obs_normalization=true");
  expect_exit(run_program(command), 0);
  for (size_t m = 0; m < std::size(kMetrics); ++m) {
    const std::vector<double> values = column(runs.run("r"), kMetrics[m]);
    for (size_t i = 0; i < 3; ++i) {
      const double expected = recorded.iterations[i][m], actual = values.at(i);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << kMetrics[m] << " of iteration " << i + 1;
      } else {
        EXPECT_NEAR(actual, expected, 1e-6 + 1e-5 * std::abs(expected)) << kMetrics[m] << " of iteration " << i + 1;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Tasks, FirstIterations, ::testing::ValuesIn(kRecorded), [](const auto& info) {
  std::string name = info.param.task;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace drl::test

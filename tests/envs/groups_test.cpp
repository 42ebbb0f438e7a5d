// Tests what actor and critic observe with --env.actor_obs and --env.hidden_obs, and in distillation.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../support/mentions.hpp"
#include "../support/stepped.hpp"
#include "../support/task_options.hpp"
#include "base/check.hpp"
#include "envs/grouped_envs.hpp"
#include "own_task_table.hpp"
#include "tasks.hpp"

namespace drl {
namespace {

// The observations of 37 environments of the task "Robot" (12 numbers for the actor, 6 for the critic), which end their
// episodes in different steps. The actions depend on environment and step only.
struct Robots : Stepped {
  static constexpr int64_t kEnvs = 37, kSteps = 60;
  explicit Robots(const EnvSetup& setup)
      : Stepped("Robot", {.num_envs = kEnvs, .seed = 3, .setup = setup}, kSteps, available_isas().back(), true) {
    step(0, kSteps, 16);
  }
};

// Expects that `ours` [rows, index.size()] has these numbers of `own` [rows, width].
void expect_numbers(const float* ours, const float* own, int64_t rows, int64_t width, const std::vector<int>& index) {
  const auto count = static_cast<int64_t>(index.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < count; ++k)
      ASSERT_EQ(ours[row * count + k], own[row * width + index[static_cast<size_t>(k)]]) << row << ", " << k;
}
std::vector<int> numbers_below(int count) {
  std::vector<int> all;
  for (int k = 0; k < count; ++k) all.push_back(k);
  return all;
}

class Groups : public testing::Test {
 protected:
  Groups() { register_test_tasks(); }
  static constexpr int64_t kRows = (Robots::kSteps + 1) * Robots::kEnvs;
};

TEST_F(Groups, AnActorCanSeeWhatTheCriticSees) {
  const Robots own(setup_with("Robot", {})), teacher(setup_with("Robot", {{"actor_obs", "critic"}}));
  const TaskSpec& spec = teacher.envs->spec();
  EXPECT_EQ(spec.obs_dim, 6);
  EXPECT_EQ(spec.critic_obs_dim, 0);
  EXPECT_TRUE(spec.observations.empty()) << "those of the critic have no names";
  expect_numbers(teacher.r.obs, own.r.critic_obs, kRows, 6, numbers_below(6));
  int64_t ended = 0;
  for (int64_t env = 0; env < Robots::kEnvs; ++env) {
    ASSERT_EQ(teacher.r.last_count[env], own.r.last_count[env]);
    for (int64_t k = 0; k < own.r.last_count[env]; ++k, ++ended) {
      const int64_t row = (k * Robots::kEnvs + env) * 6;
      expect_numbers(teacher.r.last_obs + row, own.r.last_critic_obs + row, 1, 6, numbers_below(6));
    }
  }
  EXPECT_GT(ended, 20);
}

TEST_F(Groups, ObservationsCanBeHiddenFromTheActorOnly) {
  const Robots own(setup_with("Robot", {}));
  const std::vector<NamedNumber>& names = own.envs->spec().observations;
  ASSERT_EQ(names.size(), 12u);
  const std::string hidden = names[0].name.substr(0, names[0].name.find_first_of("[ "));
  std::vector<int> left;
  for (int k = 0; k < 12; ++k)
    if (!names[static_cast<size_t>(k)].name.starts_with(hidden)) left.push_back(k);
  const Robots some(setup_with("Robot", {{"hidden_obs", hidden}}));
  const TaskSpec& spec = some.envs->spec();
  ASSERT_EQ(spec.obs_dim, static_cast<int>(left.size()));
  ASSERT_EQ(spec.obs_dim, 6) << "three frames of the command";
  EXPECT_EQ(spec.critic_obs_dim, 6);
  for (size_t k = 0; k < left.size(); ++k)
    EXPECT_EQ(spec.observations[k].name, names[static_cast<size_t>(left[k])].name);
  expect_numbers(some.r.obs, own.r.obs, kRows, 12, left);
  expect_numbers(some.r.critic_obs, own.r.critic_obs, kRows, 6, numbers_below(6));
}

// A teacher sees all that the student's task has, in the place of the critic's observations.
TEST_F(Groups, TheCriticCanSeeTheHiddenObservations) {
  const Robots own(setup_with("Robot", {}));
  const std::string first = own.envs->spec().observations[0].name;
  EnvSetup setup = setup_with("Robot", {{"hidden_obs", first}});
  std::get<GroupPlan>(setup.wrappers).critic = ObservationGroup::policy;
  const Robots student(setup);
  EXPECT_EQ(student.envs->spec().obs_dim, 11);
  EXPECT_EQ(student.envs->spec().critic_obs_dim, 12);
  expect_numbers(student.r.critic_obs, own.r.obs, kRows, 12, numbers_below(12));
  std::get<GroupPlan>(setup.wrappers).hidden_from_critic = {2, 11};  // from a teacher that had these hidden
  const Robots of_such_teacher(setup);
  EXPECT_EQ(of_such_teacher.envs->spec().critic_obs_dim, 10);
  expect_numbers(of_such_teacher.r.critic_obs, own.r.obs, kRows, 12, {0, 1, 3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_F(Groups, ACriticWithoutObservationsOfItsOwnSeesWhatIsHidden) {
  const TaskSpec spec = task_spec("Pendulum-v1", setup_with("Pendulum-v1", {{"hidden_obs", "theta_dot"}}));
  EXPECT_EQ(spec.obs_dim, 2);
  EXPECT_EQ(spec.critic_obs_dim, 3);
}

TEST_F(Groups, MirrorsAreThoseOfTheNumbersThatAreLeft) {
  TaskSpec task;
  task.obs_dim = 4;
  task.observations = {{"a", ""}, {"left", ""}, {"b", ""}, {"right", ""}};
  task.mirror = {{{0, -1}, {3, 1}, {2, 1}, {1, 1}}, {}, {{0, 1}}};
  const TaskSpec without = GroupPlan{.hidden = {0}}.spec(task);
  ASSERT_EQ(without.mirror.obs.size(), 3u);
  const int sources[] = {2, 1, 0};
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(without.mirror.obs[k].source, sources[k]);
  EXPECT_TRUE(GroupPlan{.hidden = {1}}.spec(task).mirror.empty()) << "right has no left to mirror";
}

TEST_F(Groups, WrongNamesAreRefused) {
  const auto message = [](const std::string& task, const OptionValues& options) {
    return error_from<UsageError>([&] { task_spec(task, setup_with(task, options)); });
  };
  expect_mentions(message("Cartpole", {{"hidden_obs", "x_dott"}}),
                  {"--env.hidden_obs", "x_dott", "did you mean x_dot?"});
  expect_mentions(message("Cartpole", {{"hidden_obs", "x,theta,x_dot,theta_dot"}}), {"--env.hidden_obs", "nothing"});
  expect_mentions(message("Cartpole", {{"actor_obs", "critic"}}),
                  {"--env.actor_obs critic", "Cartpole", "leave it out"});
  expect_mentions(message("Robot", {{"actor_obs", "critic"}, {"hidden_obs", "x"}}),
                  {"--env.actor_obs", "leave out one"});
}

}  // namespace
}  // namespace drl

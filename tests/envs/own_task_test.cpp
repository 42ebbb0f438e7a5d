// Tests of tasks that a user could write. The task that README.md shows is the header that is compiled here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "../support/paths.hpp"
#include "../support/task_options.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "drl/task/give_numbers.hpp"
#include "own_task_table.hpp"
#include "scalar_env.hpp"
#include "tasks.hpp"

namespace drl {
namespace {

TEST(OwnTask, ReadmeShowsThisHeader) {
  const std::string readme = slurp(source("README.md")), header = slurp(test_data("envs/double_integrator.hpp"));
  ASSERT_FALSE(header.empty());
  EXPECT_NE(readme.find("```cpp\n" + header + "```"), std::string::npos);
}

// With a constant force of 1 N: v_n = v_0 + n dt, x_n = x_0 + n dt v_0 + dt^2 n (n + 1) / 2.
TEST_F(TestTasks, FollowNewtonsLaw) {
  constexpr int kSteps = 20;
  Stepped s("DoubleIntegrator", {.num_envs = 8, .seed = 1}, kSteps);
  s.step_with(1, 0, kSteps);
  const RolloutView& r = s.r;
  for (int env = 0; env < 8; ++env) {
    const double x0 = r.obs[env * 2], v0 = r.obs[env * 2 + 1], n = kSteps, dt = 0.05;
    EXPECT_NEAR(r.obs[(kSteps * 8 + env) * 2], x0 + n * dt * v0 + dt * dt * n * (n + 1) / 2, 1e-5);
    EXPECT_NEAR(r.obs[(kSteps * 8 + env) * 2 + 1], v0 + n * dt, 1e-5);
  }
}

TEST(OwnTask, IsFoundByNameAfterRegistration) {
  EXPECT_THROW(task_spec("DoubleIntegrator"), UsageError);
  register_tasks(test_tasks(), "a test");
  EXPECT_EQ(task_origin("DoubleIntegrator"), "a test");
  EXPECT_EQ(task_spec("DoubleIntegrator").obs_dim, 2);
  EXPECT_EQ(task_names().back(), "Spring");
  const auto queue = make_host_queue(available_isas().back());
  EXPECT_EQ(make_env("DoubleIntegrator", {.num_envs = 3}, *queue)->num_envs(), 3);
  EXPECT_THROW(register_tasks(test_tasks(), "another"), UsageError);
  EXPECT_EQ(task_origin("DoubleIntegrator"), "a test");
}

// The task has no step limit, and truncates episodes at the third step: twice in a rollout of seven steps.
TEST_F(TestTasks, CanTruncateEpisodes) {
  Stepped s("Cutting", {.num_envs = 5, .seed = 1, .random_start_ages = true}, 7);
  s.step_with(0, 0, 7);
  const RolloutView& r = s.r;
  for (int64_t env = 0; env < 5; ++env) {
    EXPECT_EQ(r.last_count[env], 2);
    EXPECT_EQ(r.last_obs[env], 3);
    EXPECT_EQ(r.last_obs[5 + env], 3);
    for (int64_t t = 0; t < 7; ++t) EXPECT_EQ(r.truncated[t * 5 + env], t % 3 == 2);
  }
}

TEST_F(TestTasks, CanObserveMoreWithAnOption) {
  for (Isa isa : available_isas()) {
    SCOPED_TRACE(name_of(isa));
    constexpr int64_t kEnvs = 37;
    Stepped s("Cutting", {.num_envs = kEnvs, .setup = setup_with("Cutting", {{"sees_left", "true"}})}, 7, isa);
    ASSERT_EQ(s.envs->spec().obs_dim, 2);
    s.step_with(0, 0, 7);
    const RolloutView& r = s.r;
    for (int64_t env = 0; env < kEnvs; ++env) {
      for (int64_t t = 0; t <= 7; ++t) {
        ASSERT_EQ(r.obs[2 * (t * kEnvs + env)], t % 3);
        ASSERT_EQ(r.obs[2 * (t * kEnvs + env) + 1], 3 - t % 3);
      }
      for (int64_t k = 0; k < 2; ++k) {  // the last observations of the truncated episodes
        ASSERT_EQ(r.last_obs[2 * (k * kEnvs + env)], 3);
        ASSERT_EQ(r.last_obs[2 * (k * kEnvs + env) + 1], 0);
      }
    }
  }
}

// --- The spring: data-dependent loops, draws everywhere, array and integer members, options ---

using Spring = SpringTask<float>;
constexpr uint64_t kSeed = 7;

// Lanes need different numbers of iterations. Results are bit-identical to those of a single lane.
TEST_F(TestTasks, SpringIsBitIdenticalToScalarCodeOnEveryInstructionSet) {
  constexpr int kEnvs = 37, kSteps = 200;
  for (Isa isa : available_isas()) {
    SCOPED_TRACE(name_of(isa));
    Stepped s("Spring", {.num_envs = kEnvs, .first_global_index = 3, .seed = kSeed}, kSteps, isa, true);
    ASSERT_EQ(s.envs->spec().critic_obs_dim, 2);
    std::set<int> rounds_of_a_step;
    std::vector<int> rounds(kEnvs);
    std::vector<float> mass(kEnvs);
    int ends = 0;
    const auto choose = [](Stepped& of, int64_t) { std::fill_n(of.r.env_action, kEnvs, 11.0f); };
    const auto watch = [&](const ScalarEnv<Spring>& one, int64_t env) {
      int& before = rounds[static_cast<size_t>(env)];
      float& first_mass = mass[static_cast<size_t>(env)];
      rounds_of_a_step.insert(one.state.rounds - before);
      if (first_mass == 0) first_mass = one.state.mass;
      EXPECT_EQ(one.state.mass, first_mass);  // constant over the lifetime
      ends += one.has_ended(), before = one.has_ended() ? 0 : one.state.rounds;
    };
    ASSERT_NO_FATAL_FAILURE(expect_bits_of_scalar_code<Spring>(s, kSeed, kSteps, choose, watch));
    EXPECT_GT(ends, kEnvs);
    EXPECT_GE(rounds_of_a_step.size(), 3u) << "all lanes needed the same number of iterations";
  }
}

// Solves the spring's equation for v' in double by bisection; its residual grows with v'.
double solve(double x, double v, double mass, double force) {
  const double dt = 0.05;
  const auto rest = [&](double w) {
    const double y = x + dt * w;
    return mass * (w - v) / dt - force + 2000 * y + 5e4 * y * y * y + w;
  };
  double low = -1e3, high = 1e3;
  for (int k = 0; k < 200; ++k) (rest((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

TEST(Spring, AgreesWithTheEquationSolvedInDouble) {
  Spring::Params calm;
  calm.gust = 0;
  for (int64_t index = 0; index < 50; ++index) {
    ScalarEnv<Spring> one(kSeed, index, calm);
    const double mass = one.state.mass;
    EXPECT_GE(mass, 0.1);
    EXPECT_LT(mass, 10);
    for (uint64_t t = 0; t < 40; ++t) {
      const double x = one.state.x, v = one.state.v;
      one.step({-20}, t);
      const double w = solve(x, v, mass, -20);
      ASSERT_NEAR(one.state.v, w, 2e-5 * (1 + std::abs(w))) << index << " step " << t;
      ASSERT_NEAR(one.state.x, x + 0.05 * w, 2e-6) << index << " step " << t;
      ASSERT_EQ(one.state.past[0], static_cast<float>(x));
    }
  }
}

template <class Params>
Params params_of(const TaskOptions& options) {
  Params read;
  const std::vector<std::byte> bytes = options.params.setup().params;
  EXPECT_GE(bytes.size(), sizeof(read));
  std::memcpy(static_cast<void*>(&read), bytes.data(), sizeof(read));
  return read;
}

// Options may be lists of numbers, ranges, and files of numbers that change with time.
TEST_F(TestTasks, SpringTakesListsRangesAndSchedules) {
  const TaskOptions none("Spring");
  EXPECT_EQ(none.table.find("env.gust_range").value(), "-1,0.5");
  EXPECT_EQ(none.table.find("env.wind_at").value(), "none");
  const Spring::Params before = params_of<Spring::Params>(none);
  EXPECT_EQ(before.gust_range.low, -1);
  EXPECT_EQ(before.gust_range.high, 0.5f);
  EXPECT_EQ(before.gust_range.is_given, 1);
  EXPECT_EQ(before.wind_at.is_given, 0);
  EXPECT_EQ(before.wind_plan.count, 0);

  const TempFolder folder;
  const std::string plan = folder / "plan.txt";
  spill(plan, "\xef\xbb\xbf# seconds x y\n0.5 1 -2\n\n2\t3,4  # faster\r\n");
  const TaskOptions options("Spring", {{"gust_range", "0.25"}, {"wind_at", "1, -2 3"}, {"wind_plan", plan}});
  const auto now = params_of<Spring::Params>(options);
  EXPECT_EQ(now.gust_range.low, 0.25f);
  EXPECT_EQ(now.gust_range.high, 0.25f);
  EXPECT_EQ(std::vector(now.wind_at.at, now.wind_at.at + 3), (std::vector<float>{1, -2, 3}));
  EXPECT_EQ(now.wind_at.is_given, 1);
  ASSERT_EQ(now.wind_plan.count, 2);
  SpringTask<double>::Params exact;
  copy_numbers(now, exact);
  EXPECT_EQ(exact.max_rounds, 50);  // follows the lists
  const double expected[][3] = {{0.25, 0, 0}, {0.5, 1, -2}, {1.75, 1, -2}, {2, 3, 4}, {100, 3, 4}};
  for (const auto& [seconds, x, y] : expected) {
    double numbers[2] = {9, 9};
    exact.wind_plan.read(seconds, numbers);
    EXPECT_EQ(numbers[0], x) << seconds;
    EXPECT_EQ(numbers[1], y) << seconds;
  }

  for (const auto& [name, value] : {std::pair{"gust_range", "1,0"},
                                    {"gust_range", "1,2,3"},
                                    {"gust_range", "-6,0"},
                                    {"wind_at", "1,2"},
                                    {"wind_at", "1,x,3"},
                                    {"wind_at", "1,nan,3"}})
    EXPECT_THROW(TaskOptions("Spring", {{name, value}}), UsageError) << name << " " << value;
  for (const auto& [text, place] : {std::pair{"0 1 2\n1 2\n", ":2: "},
                                    {"0 1 2\n1 2 three\n", ":2: "},
                                    {"\n\n0 1 20\n", ":3: "},
                                    {"-1 1 2\n", ":1: "},
                                    {"1 1 2\n1 2 3\n", ":2: "},
                                    {"0 0 0\n1 1 1\n2 2 2\n3 3 3\n", ":4: "},
                                    {"# nothing\n", "plan.txt: "}}) {
    spill(plan, text);
    try {
      options.params.setup();
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(plan.substr(plan.rfind('/') + 1)), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
    }
  }
  std::filesystem::remove(plan);
  EXPECT_THROW(options.params.setup(), UsageError);
}

// Setting an option equals changing the parameter in the header.
TEST_F(TestTasks, SpringTakesItsParametersFromOptions) {
  TaskOptions options("Spring");
  OptionTable& table = options.table;
  const TaskParams& params = options.params;
  EXPECT_EQ(table.find("env.gust").value(), "0.5");
  EXPECT_THROW(table.set("env.stiffness", "0"), UsageError);
  table.set("env.stiffness", "4000");
  table.set("env.max_rounds", "3");
  table.set("env.winds", "storms/../may.h5");
  Spring::Params expected;
  expected.stiffness = 4000, expected.max_rounds = 3;
  Spring::Params read;
  ASSERT_GE(params.setup().params.size(), sizeof(read));
  std::memcpy(&read, params.setup().params.data(), sizeof(read));
  EXPECT_EQ(read.stiffness, 4000);
  EXPECT_EQ(read.max_rounds, 3);
  EXPECT_EQ(read.gust, 0.5f);
  EXPECT_EQ(read.winds.path, (std::filesystem::current_path() / "may.h5").string());
  const int room = FileName::kSize - 1;
  for (const int length : {room, room + 1}) {
    const TaskOptions other("Spring", {{"winds", "/" + std::string(static_cast<size_t>(length - 1), 'x')}});
    if (length == room)
      EXPECT_NO_THROW(other.params.setup());
    else
      EXPECT_THROW(other.params.setup(), UsageError);
  }

  EXPECT_TRUE(table.find("env.winds").changes_env_state && table.find("env.wind_at").changes_env_state);
  EXPECT_FALSE(table.find("env.gust").changes_env_state || table.find("env.wind_plan").changes_env_state);

  Stepped s("Spring", {.num_envs = 20, .seed = kSeed, .setup = params.setup()}, 1);
  s.step_with(0, 0, 1);
  for (int64_t env = 0; env < 20; ++env) {
    ScalarEnv<Spring> one(kSeed, env, expected);
    one.step({0}, 0);
    EXPECT_EQ(one.result.reward, s.r.reward[env]);
  }
}

// Compares the mean, the variance and the share beyond one standard deviation with a normal distribution. The tolerance
// is five standard deviations.
TEST(Spring, NormalDrawsAreNormal) {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, beyond = 0;
  for (int k = 0; k < kCount; ++k) {
    const double x = Draws<float>(1, static_cast<uint64_t>(k), 0, Purpose::step).normal();
    sum += x, squares += x * x, beyond += std::abs(x) > 1;
  }
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(beyond / kCount, 0.317311, 5 * std::sqrt(0.3173 * 0.6827 / kCount));
}

// Draws in double and in float are the same numbers, except for rounding.
TEST(Spring, DrawsInDoubleAgreeWithThoseInFloat) {
  for (uint64_t k = 0; k < 20000; ++k) {
    Draws<float> numbers(1, k, 3, Purpose::step);
    Draws<double> exact(1, k, 3, Purpose::step);
    for (int draw = 0; draw < 3; ++draw) {
      const double uniform = exact.uniform(-3, 5), normal = exact.normal();
      ASSERT_NEAR(numbers.uniform(-3, 5), uniform, 5e-7);
      ASSERT_NEAR(numbers.normal(), normal, 1e-6 * (1 + 5 * std::abs(normal)));
    }
  }
}

// The task of a robot whose physics in lanes, with the numbers of its own model or with those that environments draw,
// is a built-in task.
TEST(RobotRecords, LanesArePreparedForBothModels) {
  static int prepared = 0;
  static const TaskRecord lanes = task_record("Pendulum-v1"), randomised = lanes;
  static const RobotRecord robot{
      .own = {"", 1},
      .in_lanes = &lanes,
      .randomised = &randomised,
      .inspect = [](const RobotChoice*, RobotFacts*, char*, int64_t) -> int32_t { return 0; },
      .bounds = nullptr,
      .prepare = [](const void*, char*, int64_t) -> int32_t { return prepared += 1, 0; }};
  static TaskRecord record = lanes;
  record.name = "PreparedRobot", record.robot = &robot;
  static const TaskRecord* const tasks[] = {&record};
  TaskLibrary library = test_tasks();
  library.count = 1, library.tasks = tasks;
  register_tasks(library, "the tests");
  const auto queue = make_host_queue(isa_of("auto"));
  for (const TaskRecord* model : {&lanes, &randomised, static_cast<const TaskRecord*>(&record)}) {
    prepared = 0;
    EnvSetup setup = TaskParams(lanes).setup();
    setup.record = model;
    make_env("PreparedRobot", {.num_envs = 2, .setup = setup}, *queue);
    EXPECT_EQ(prepared, model == &record ? 0 : 1);
  }
}

}  // namespace
}  // namespace drl

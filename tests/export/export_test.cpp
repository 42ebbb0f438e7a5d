// Tests what is exported: against calculations by hand, and the formats against each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "export/exporters.hpp"
#include "export/onnx_program.hpp"
#include "export/verify.hpp"

namespace drl {
namespace {

using Numbers = std::vector<double>;

// Calls use(name, function, tolerance) for each way to compute the policy's action from an observation and a state.
template <class Use>
void for_each_export(const ExportedPolicy& policy, Use&& use) {
  const OnnxProgram onnx(onnx_model(policy));
  use(
      "act", [&](const Numbers& x, Numbers& state) { return act(policy, x, state); }, 1e-12);
  use(
      "ONNX", [&](const Numbers& x, Numbers& state) { return onnx.run(x, state); }, 1e-6);  // its constants are float
  const PolicyFunction in_double = compile_header(c_header(policy, "double")),
                       in_float = compile_header(c_header(policy, "float"));
  use(
      "C, double", [&](const Numbers& x, Numbers& state) { return in_double(x, state); }, 1e-12);
  use(
      "C, float", [&](const Numbers& x, Numbers& state) { return in_float(x, state); }, 1e-5);
}

void expect_action(const ExportedPolicy& policy, const Numbers& observation, const Numbers& action) {
  for_each_export(policy, [&](const char* name, const auto& function, double tolerance) {
    Numbers state;
    const Numbers found = function(observation, state);
    ASSERT_EQ(found.size(), action.size()) << name;
    for (size_t k = 0; k < action.size(); ++k) EXPECT_NEAR(found[k], action[k], tolerance) << name << ", action " << k;
  });
}

const op::Bound kUnitBounds{.low = {-1}, .high = {1}};

ExportedPolicy small_policy() {
  ExportedPolicy policy;
  policy.task = "T";
  policy.source = "by hand";
  policy.dt = 0.02;
  policy.observation_names = {"x", "v"}, policy.observation_units = {"m", ""};
  policy.action_names = {"force"}, policy.action_units = {"N"};
  policy.observation_steps_before = {0, 0};
  policy.unit_scale = {1}, policy.unit_offset = {0};
  policy.ops = {op::Normalise{.mean = {1, 2}, .scale = {0.5, 2}, .clip = 3},
                op::Affine{0, 2, 2, {1, 2, -1, 1}, {0.5, 0}}, op::Activation{"relu"},
                op::Affine{1, 2, 1, {0.5, 1}, {0.25}}, kUnitBounds};
  return policy;
}

// Normalised (1, 0); hidden relu(1.5, -1) = (1.5, 0); output 0.5 * 1.5 + 0.25 = 1, which is the upper bound.
// With the observation (2, 2): normalised (0.5, 0); hidden (1, 0); output 0.75.
TEST(Export, NormalisesAndClipsByHand) {
  expect_action(small_policy(), {3, 2}, {1});
  expect_action(small_policy(), {2, 2}, {0.75});
}

// Normalised (50, -4) is clipped to (3, -3); hidden relu(3 - 6 + 0.5, -3 - 3) = (0, 0); output 0.25.
TEST(Export, ClipsNormalisedObservations) { expect_action(small_policy(), {101, 0}, {0.25}); }

TEST(Export, AppliesGainAndOffsetToTheBoundedAction) {
  ExportedPolicy policy = small_policy();
  auto& bound = std::get<op::Bound>(policy.ops.back());
  bound.gain = {2}, bound.offset = {10};
  expect_action(policy, {2, 2}, {11.5});
  std::get<op::Affine>(policy.ops[3]).bias = {100};
  expect_action(policy, {2, 2}, {12});
}

// For the observation (2, 2), the hidden layer is (1, 0). With the bounds -1 and 3, the action is 1 + 2 tanh(0.75); as
// a Beta distribution with the raw numbers 0.75 and -0.5, it is -1 + 4 A / (A + B) with A = 1 + log(1 + e^0.75).
TEST(Export, PlacesActionsBetweenTheirBoundsByHand) {
  ExportedPolicy policy = small_policy();
  auto& bound = std::get<op::Bound>(policy.ops.back());
  bound.low = {-1}, bound.high = {3}, bound.range = {4};
  bound.outputs = Outputs::means_before_tanh;
  expect_action(policy, {2, 2}, {1 + 2 * std::tanh(0.75)});
  policy.ops[3] = op::Affine{1, 2, 2, {0.5, 1, 0, 0}, {0.25, -0.5}};
  bound.outputs = Outputs::alphas_and_betas;
  const double a = 1 + std::log1p(std::exp(0.75)), b = 1 + std::log1p(std::exp(-0.5));
  expect_action(policy, {2, 2}, {-1 + 4 * a / (a + b)});
  bound.gain = {2}, bound.offset = {10};
  expect_action(policy, {2, 2}, {10 + 2 * (-1 + 4 * a / (a + b))});
}

// (1, 3) has mean 2 and variance 1, so that it becomes (-1, 1) / sqrt(1 + 1e-5); times (2, 3), plus (0, 1).
TEST(Export, LayerNormByHand) {
  ExportedPolicy policy = small_policy();
  policy.ops = {op::Affine{0, 2, 2, {1, 0, 0, 1}, {0, 0}}, op::Norm{0, {2, 3}, {0, 1}}, op::Activation{"relu"},
                op::Affine{1, 2, 1, {0, 0.25}, {0}}, kUnitBounds};
  expect_action(policy, {1, 3}, {(3 / std::sqrt(1 + 1e-5) + 1) / 4});
}

// The first of equal logits is chosen, as by drl_eval.
TEST(Export, ChoosesTheLargestLogitOfEachHead) {
  ExportedPolicy policy = small_policy();
  policy.ops = {op::Affine{0, 2, 5, {1, 0, 0, 1, 0, 0, 1, 0, 0, 1}, {0, 0, 0, 0, 0}}, op::ArgMax{{3, 2}}};
  policy.action_names = {"a", "b"}, policy.action_units = {"", ""};
  policy.unit_scale = {1, 1}, policy.unit_offset = {0, 0};
  expect_action(policy, {1, 2}, {1, 1});    // logits 1 2 0, 1 2
  expect_action(policy, {2, 2}, {0, 0});    // logits 2 2 0, 2 2
  expect_action(policy, {-1, -2}, {2, 0});  // logits -1 -2 0, -1 -2
}

// elu(-1) = 1/e - 1; tanh(-1); silu(-1) = -1 / (1 + e); gelu(-1) = -Phi(-1), where Phi(-1) = 0.158655253931457.
TEST(Export, ActivationsByHand) {
  for (const auto& [name, value] : {std::pair{"elu", std::exp(-1) - 1},
                                    {"tanh", std::tanh(-1)},
                                    {"relu", 0.0},
                                    {"silu", -1 / (1 + std::exp(1))},
                                    {"gelu", -0.158655253931457}}) {
    ExportedPolicy policy = small_policy();
    policy.ops = {op::Affine{0, 2, 1, {1, 0}, {0}}, op::Activation{name}, op::Affine{1, 1, 1, {1}, {0}}, kUnitBounds};
    SCOPED_TRACE(name);
    expect_action(policy, {-1, 0}, {value});
  }
}

// A policy with random numbers, large enough that a mistake in a shape would show.
TEST(Export, FormatsAgreeForALargerNetwork) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto numbers = [&](int64_t count, float scale) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& x : result) x = scale * normal(random);
    return result;
  };
  ExportedPolicy policy = small_policy();
  policy.observation_names.assign(17, "x"), policy.observation_units.assign(17, "");
  policy.observation_steps_before.assign(17, 0);
  policy.action_names.assign(5, "u"), policy.action_units.assign(5, "");
  policy.unit_scale.assign(5, 1), policy.unit_offset.assign(5, 0);
  const op::Activation elu{"elu"};
  const std::vector<float> low(5, -1), high(5, INFINITY);
  policy.ops = {op::Normalise{numbers(17, 1), numbers(17, 1), 10},
                op::Affine{0, 17, 33, numbers(17 * 33, 0.3f), numbers(33, 1)},
                op::Norm{0, numbers(33, 1), numbers(33, 1)},
                elu,
                op::Affine{1, 33, 9, numbers(33 * 9, 0.3f), numbers(9, 1)},
                op::Norm{1, numbers(9, 1), numbers(9, 1)},
                elu,
                op::Affine{2, 9, 5, numbers(45, 0.3f), numbers(5, 0.1f)},
                op::Bound{.low = low, .high = high}};
  Numbers observation(17);
  for (double& x : observation) x = normal(random);
  expect_action(policy, observation, act(policy, observation));
}

// Gates have biases of +-log(3), so that they are 3/4 or 1/4, and no weights. The layer after the recurrent one is the
// identity.
ExportedPolicy one_unit(const std::string& type, const std::vector<float>& input_weight,
                        const std::vector<float>& input_bias, const std::vector<float>& hidden_bias) {
  ExportedPolicy policy = small_policy();
  policy.observation_names = {"x"}, policy.observation_units = {""}, policy.observation_steps_before = {0};
  policy.ops = {
      op::Recurrent{0, type, 1, 1, input_weight, input_bias, std::vector<float>(input_weight.size()), hidden_bias},
      op::Affine{0, 1, 1, {1}, {0}}, kUnitBounds};
  return policy;
}

// Expects these actions for the observations 1, 1, ... of an episode, and of a second one.
void expect_actions(const ExportedPolicy& policy, const Numbers& actions) {
  for_each_export(policy, [&](const char* name, const auto& function, double tolerance) {
    for (int episode = 0; episode < 2; ++episode) {
      Numbers state(static_cast<size_t>(policy.state_size()));
      for (const double action : actions)
        EXPECT_NEAR(function(Numbers{1}, state).front(), action, std::max(tolerance, 1e-7)) << name;
    }
  });
}

// r = 1/4, z = 3/4, n = tanh(1 + r 4) = tanh(2), h' = n/4 + 3 h/4.
TEST(Export, AGruByHand) {
  const auto log3 = std::log(3.0f);
  const double n = std::tanh(2.0), first = n / 4, second = n / 4 + 3 * first / 4;
  expect_actions(one_unit("gru", {0, 0, 1}, {-log3, log3, 0}, {0, 0, 4}), {first, second, n / 4 + 3 * second / 4});
}

// i = 3/4, f = 1/4, g = tanh(1), o = 3/4: c' = c/4 + 3 g/4, h' = 3 tanh(c')/4.
TEST(Export, AnLstmByHand) {
  const auto log3 = std::log(3.0f);
  const double g = std::tanh(1.0), first = 3 * g / 4, second = first / 4 + 3 * g / 4;
  expect_actions(one_unit("lstm", {0, 0, 1, 0}, {log3, -log3, 0, 0}, {0, 0, 0, log3}),
                 {3 * std::tanh(first) / 4, 3 * std::tanh(second) / 4});
}

TEST(Export, FormatsAgreeForRecurrentPolicies) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto numbers = [&](int64_t count) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& x : result) x = 0.5f * normal(random);
    return result;
  };
  for (const auto& [type, gates] : {std::pair{"gru", 3}, {"lstm", 4}}) {
    ExportedPolicy policy = small_policy();
    const int64_t all = 7 * gates;
    policy.ops = {policy.ops.front(),
                  op::Recurrent{0, type, 2, 7, numbers(2 * all), numbers(all), numbers(7 * all), numbers(all)},
                  op::Recurrent{1, type, 7, 7, numbers(7 * all), numbers(all), numbers(7 * all), numbers(all)},
                  op::Affine{0, 7, 9, numbers(63), numbers(9)},
                  op::Norm{0, numbers(9), numbers(9)},
                  op::Activation{"relu"},
                  op::Affine{1, 9, 4, numbers(36), numbers(4)},
                  op::ArgMax{{2, 2}}};
    policy.action_names = {"a", "b"}, policy.action_units = {"", ""};
    policy.unit_scale = {1, 1}, policy.unit_offset = {0, 0};
    std::vector<Numbers> observations, actions;
    Numbers expected_state(static_cast<size_t>(policy.state_size()));
    for (int step = 0; step < 10; ++step) {
      observations.push_back({normal(random), normal(random)});
      actions.push_back(act(policy, observations.back(), expected_state));
    }
    for_each_export(policy, [&](const char* name, const auto& function, double tolerance) {
      Numbers state(expected_state.size());
      for (size_t step = 0; step < observations.size(); ++step)
        EXPECT_EQ(function(observations[step], state), actions[step]) << type << ", " << name << ", step " << step;
      for (size_t k = 0; k < state.size(); ++k) EXPECT_NEAR(state[k], expected_state[k], tolerance) << name;
    });
    EXPECT_THROW(torch_script(policy), UsageError);
  }
}

TaskSpec small_task() {
  TaskSpec task;
  task.name = "T", task.obs_dim = 2, task.dt = 0.5;
  task.action.low = {-2}, task.action.high = {2};
  return task;
}

// A checkpoint of a network with two inputs and one output, and its description.
Checkpoint described(const TaskSpec& task = small_task()) {
  Checkpoint checkpoint;
  const auto add = [&](const std::string& name, DType type, std::vector<int64_t> shape, size_t bytes) {
    checkpoint.tensors.push_back({name, type, std::move(shape), std::vector<std::byte>(bytes)});
  };
  add("policy/actor/0/weight", DType::f32, {1, 2}, 8);
  add("policy/actor/0/bias", DType::f32, {1}, 4);
  add("normalizer/obs/count", DType::f64, {}, 8);
  add("normalizer/obs/mean", DType::f64, {2}, 16);
  add("normalizer/obs/variance", DType::f64, {2}, 16);
  const double one = 1, four = 4;
  std::memcpy(checkpoint.tensors[2].data.data(), &one, 8);
  std::memcpy(checkpoint.tensors[4].data.data(), &four, 8);
  checkpoint.attributes["iteration"] = int64_t{5};
  PolicyOptions options;
  options.actor_hidden_dims = {}, options.activation = "silu";
  describe_policy(checkpoint, policy_spec(task, options, NormalizerRule{.eps = 0.5, .clip = 7}));
  return checkpoint;
}

// The scale of a variance of 4 is 1 / (2 + 0.5), and that of 0 is 1 / 0.5.
TEST(Export, ReadsWhatACheckpointSays) {
  const ExportedPolicy policy = exported_policy(described(), "f");
  EXPECT_EQ(policy.task, "T");
  EXPECT_EQ(policy.dt, 0.5);
  ASSERT_EQ(policy.ops.size(), 3u);
  EXPECT_EQ(std::get<op::Normalise>(policy.ops[0]).scale, (std::vector<float>{0.4f, 2}));
  EXPECT_EQ(std::get<op::Normalise>(policy.ops[0]).clip, 7);
  EXPECT_EQ(std::get<op::Affine>(policy.ops[1]).inputs, 2);
  EXPECT_EQ(std::get<op::Bound>(policy.ops[2]).low, (std::vector<float>{-2}));
  EXPECT_EQ(policy.observation_names, (std::vector<std::string>{"obs[0]", "obs[1]"}));
  EXPECT_EQ(policy.action_names, (std::vector<std::string>{"action[0]"}));
  EXPECT_EQ(policy.unit_scale, (std::vector<double>{1}));
}

TEST(Export, TakesNamesAndUnitsFromTheTask) {
  TaskSpec task = small_task();
  task.observations = {{"x", "m"}, {"v", "m/s"}};
  task.actions = {{"force", "N", 5, 10}};
  const ExportedPolicy policy = exported_policy(described(task), "f");
  EXPECT_EQ(policy.observation_names, (std::vector<std::string>{"x", "v"}));
  EXPECT_EQ(policy.observation_units, (std::vector<std::string>{"m", "m/s"}));
  EXPECT_EQ(policy.action_units, (std::vector<std::string>{"N"}));
  EXPECT_EQ(policy.unit_scale, (std::vector<double>{5}));
  EXPECT_EQ(policy.unit_offset, (std::vector<double>{10}));
  expect_mentions(policy_json(policy), {"\"force\"", "\"N\"", "\"scale\": 5.0", "\"offset\": 10.0"});
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& all, const std::string& key) {
  const auto found = std::ranges::find(all, key, &std::pair<std::string, std::string>::first);
  return found == all.end() ? "(none)" : found->second;
}

// The keys of mjlab's onnx models (mjlab/rl/exporter_utils.py): lists are joined by commas.
TEST(Export, DescribesTargetsOfJointsAsMjlabDoes) {
  TaskSpec task = small_task();
  task.observations = {{"joint_pos[0]", "rad"}, {"joint_pos[1]", "rad"}};
  task.actions = {{.name = "knee", .unit = "rad", .scale = 0.5, .offset = -1.5, .stiffness = 20, .damping = 0.75}};
  task.commands = {"twist", "height"};
  const ExportedPolicy policy = exported_policy(described(task), "f");
  const auto all = metadata(policy);
  EXPECT_EQ(value_of(all, "joint_names"), "knee");
  EXPECT_EQ(value_of(all, "joint_stiffness"), "20.0");
  EXPECT_EQ(value_of(all, "joint_damping"), "0.75");
  EXPECT_EQ(value_of(all, "default_joint_pos"), "-1.5");
  EXPECT_EQ(value_of(all, "action_scale"), "0.5");
  EXPECT_EQ(value_of(all, "observation_names"), "joint_pos");
  EXPECT_EQ(value_of(all, "command_names"), "twist,height");
  expect_mentions(policy_json(policy), {"\"stiffness\": 20.0", "\"damping\": 0.75", "\"twist\""});
  expect_mentions(c_header(policy, "float"), {"DRL_T_ACTION_STIFFNESSES {20}", "DRL_T_ACTION_DAMPINGS {0.75}"});
  for (const auto& [key, value] : metadata(exported_policy(described(), "f")))
    EXPECT_FALSE(key.starts_with("joint_") || key == "command_names") << key << " = " << value;
}

// An observation of an earlier step is not a quantity of its own.
TEST(Export, TellsOfHowManyStepsAgoAnObservationIs) {
  TaskSpec task = small_task();
  task.observations = {{.name = "x (1 step before)", .unit = "m", .steps_before = 1}, {.name = "x", .unit = "m"}};
  const ExportedPolicy policy = exported_policy(described(task), "f");
  EXPECT_EQ(policy.observation_steps_before, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(value_of(metadata(policy), "observation_names"), "x");
  expect_mentions(policy_json(policy), {"\"steps_before\": 1", "\"steps_before\": 0"});
  Checkpoint without = described();
  std::erase_if(without.tensors, [](const Tensor& t) { return t.name == "policy/observation/steps_before"; });
  EXPECT_EQ(exported_policy(without, "f").observation_steps_before, (std::vector<int32_t>{0, 0}));
}

// Reading beyond the observation would not be noticed otherwise.
TEST(Export, RefusesHeadersForAnotherNumberOfObservations) {
  const PolicyFunction function = compile_header(c_header(small_policy(), "float"));
  Numbers state;
  EXPECT_THROW(function(Numbers{1}, state), UsageError);
}

TEST(Export, RefusesHeadersWithAnotherState) {
  const PolicyFunction function = compile_header(c_header(small_policy(), "float"));
  Numbers state(3);
  EXPECT_THROW(function(Numbers{1, 2}, state), UsageError);
}

TEST(Export, NamesOfHeadersComeFromTheFileOrTheTask) {
  for (const auto& [file, task, prefix] :
       std::vector<std::array<std::string, 3>>{{"walk.h", "T", "drl_walk"},
                                               {"Go1 (2).best.hpp", "T", "drl_go1_2"},
                                               {"policy.h", "Go1-Velocity-Flat", "drl_go1_velocity_flat"},
                                               {"-", "Pendulum-v1", "drl_pendulum_v1"},
                                               {".h", "T", "drl_t"},
                                               {"policy.h", "policy", "drl_a_policy"}})
    EXPECT_EQ(c_prefix(file, task), prefix) << file;
}

// Compiles a program with these headers, by a compiler of C or of C++, and returns what it prints and says.
Result compiled(const std::map<std::string, std::string>& files, const std::string& main, const std::string& language) {
  const TempFolder folder;
  std::string code = "#include <stdio.h>\n";
  for (const auto& [name, text] : files) {
    spill(folder / name, text);
    code += "#include \"" + name + "\"\n#include \"" + name + "\"\n";  // twice, as by two other headers
  }
  spill(folder / "main.c", code + "int main(void) {\n" + main + "  return 0;\n}\n");
  const std::string program = folder / "program";
  Result result =
      run_program({"cc", "-std=" + language, "-Wall", "-Wextra", "-Wno-unused-function", "-pedantic", "-Werror", "-x",
                   language == "c99" ? "c" : "c++", "-o", program, folder / "main.c", "-lm"});
  return result.exit_code == 0 ? run_program({program}) : result;
}

// The actions are those of NormalisesAndClipsByHand and AGruByHand. real.h and policy_act.h have names of the other
// header as their own.
TEST(Export, TwoHeadersWorkInOneProgram) {
  const auto log3 = std::log(3.0f);
  const ExportedPolicy gru = one_unit("gru", {0, 0, 1}, {-log3, log3, 0}, {0, 0, 4});
  const std::string a_main =
                        "  const drl_@_real of_a[DRL_#_OBSERVATIONS] = {2, 2};\n  drl_@_real to_a[DRL_#_ACTIONS];\n"
                        "  drl_@_act(of_a, to_a);\n",
                    b_main =
                        "  const double of_b[DRL_GRU_OBSERVATIONS] = {1};\n  double to_b[DRL_GRU_ACTIONS];\n"
                        "  drl_gru_state state;\n  drl_gru_reset(&state);\n  drl_gru_act(&state, of_b, to_b);\n"
                        "  printf(\"%.6f %.6f\", (double)to_a[0], to_b[0]);\n";
  for (const auto& [file, name] : {std::pair<std::string, std::string>{"a", "a"},
                                   {"z", "z"},
                                   {"policy", "t"},
                                   {"real", "real"},
                                   {"policy_act", "policy_act"}})
    for (const char* language : {"c99", "c++17"}) {
      std::string main = boost::replace_all_copy(a_main, "@", name);
      boost::replace_all(main, "#", boost::to_upper_copy(name));
      const Result result = compiled(
          {{file + ".h", c_header(small_policy(), "float", file + ".h")}, {"gru.h", c_header(gru, "double", "gru.h")}},
          main + b_main, language);
      EXPECT_EQ(result.out, fmt::format("0.750000 {:.6f}", std::tanh(2.0) / 4)) << file << language << result.err;
    }
}

// One header also has names that do not depend on the policy.
TEST(Export, AHeaderAloneHasTheCommonNames) {
  const Result result = compiled({{"walk.h", c_header(small_policy(), "float", "walk.h")}},
                                 "  const drl_real x[DRL_POLICY_OBSERVATIONS] = {2, 2};\n"
                                 "  drl_real u[DRL_POLICY_ACTIONS];\n  drl_policy_act(x, u);\n"
                                 "  printf(\"%.2f %g\", (double)u[0], DRL_POLICY_DT);\n",
                                 "c99");
  EXPECT_EQ(result.out, "0.75 0.02") << result.err;
}

TEST(Export, TwoPoliciesOfOneNameAreAnErrorOfTheCompiler) {
  ExportedPolicy other = small_policy();
  std::get<op::Affine>(other.ops[3]).bias = {100};
  const Result result =
      compiled({{"a.h", c_header(small_policy(), "float")}, {"b.h", c_header(other, "float")}}, "", "c99");
  EXPECT_NE(result.exit_code, 0);
  expect_mentions(result.err, {"drl_t_", "another name"});
}

template <class Change>
std::string error_after(const Change& change) {
  Checkpoint checkpoint = described();
  change(checkpoint);
  try {
    exported_policy(checkpoint, "f.h5");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Export, RefusesCheckpointsThatDoNotDescribeTheirPolicy) {
  expect_mentions(error_after([](Checkpoint& c) { c.attributes.erase("policy/task"); }), {"f.h5", "earlier version"});
  expect_mentions(error_after([](Checkpoint& c) { c.attributes["policy/activation"] = std::string("sin"); }),
                  {"f.h5", "sin"});
  expect_mentions(error_after([](Checkpoint& c) { c.attributes["policy/layers"] = int64_t{0}; }),
                  {"f.h5", "no layers"});
  expect_mentions(error_after([](Checkpoint& c) { c.tensors[1].data.resize(8); }), {"f.h5", "policy/actor/0/bias"});
  expect_mentions(error_after([](Checkpoint& c) { c.tensors.erase(c.tensors.begin() + 1); }),
                  {"f.h5", "policy/actor/0 lacks"});
  expect_mentions(error_after([](Checkpoint& c) { c.tensors.erase(c.tensors.begin()); }),
                  {"f.h5", "policy/actor/0/weight"});
  expect_mentions(error_after([](Checkpoint& c) { c.attributes["policy/observation_names"] = std::string("x"); }),
                  {"f.h5", "observation_names", "1"});
}

TEST(Export, RefusesDamagedModels) {
  const std::string model = onnx_model(small_policy());
  EXPECT_THROW(OnnxProgram(""), UsageError);
  EXPECT_THROW(OnnxProgram("not a model"), UsageError);
  for (size_t size = 1; size < model.size(); size += 7) try {
      OnnxProgram(std::string_view(model).substr(0, size)).run(Numbers{1, 2});
    } catch (const UsageError&) {
    }
}

TEST(Export, AnyNameIsAStringOfC) {
  ExportedPolicy policy = small_policy();
  policy.action_names[0] = "a\"b\\c?\?/\n\xff\u00e9";
  std::string header = c_header(policy, "float");
  header.insert(header.rfind("#endif"),
                "static const char *const drl_names[] = DRL_POLICY_ACTION_NAMES;\n"
                "const char *drl_name(void);\nconst char *drl_name(void) { return drl_names[0]; }\n");
  EXPECT_NO_THROW(compile_header(header));
}

// The header is a comment's content away from being broken by a task's name.
TEST(Export, NamesCannotEndTheHeadersComment) {
  ExportedPolicy policy = small_policy();
  policy.task = "T*/ int";
  policy.observation_names[0] = "*/";
  EXPECT_NO_THROW(compile_header(c_header(policy, "float")));
}

}  // namespace
}  // namespace drl

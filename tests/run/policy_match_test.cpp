// Tests the comparison of a policy with the task that uses it.
#include "run/policy_match.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "../support/mentions.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

PolicySpec spec_of(std::vector<NamedNumber> observations, std::vector<NamedNumber> actions) {
  PolicySpec spec;
  spec.task = "Two", spec.observations = std::move(observations), spec.actions = std::move(actions);
  return spec;
}

TEST(PolicyMatch, SameNamesInTheSameOrderAgree) {
  const PolicySpec spec = spec_of({{"x", "m"}, {"v", "m/s"}}, {{"push", "N"}});
  EXPECT_EQ(policy_differences(spec.observations, spec.actions, spec), "");
}

TEST(PolicyMatch, OrderUnitsScalesAndHistoryCount) {
  const std::vector<NamedNumber> observations = {{"x", "m"}, {"v", "m/s"}}, actions = {{"push", "N", 1}};
  expect_mentions(policy_differences(observations, actions, spec_of({{"v", "m/s"}, {"x", "m"}}, {{"push", "N"}})),
                  {"observation 0 is x in m in training and v in m/s here", "observation 1"});
  expect_mentions(policy_differences(observations, actions, spec_of(observations, {{"push", "kN"}})),
                  {"action 0", "push in N ", "push in kN "});
  expect_mentions(policy_differences(observations, actions, spec_of(observations, {{"push", "N", 0.25}})),
                  {"action 0", "times 1 ", "times 0.25 "});
  std::vector<NamedNumber> older = observations;
  older[1].steps_before = 2;
  expect_mentions(policy_differences(observations, actions, spec_of(older, actions)), {"observation 1", "2 steps ago"});
  expect_mentions(policy_differences(observations, actions, spec_of({{"x", "m"}}, actions)), {"2 observations", "1"});
}

TEST(PolicyMatch, ThreeDifferencesAreNamed) {
  std::vector<NamedNumber> then, now;
  for (int k = 0; k < 9; ++k) then.push_back({"a" + std::to_string(k), ""}), now.push_back({"b", ""});
  const std::string differences = policy_differences(then, {}, spec_of(now, {{"push", "N"}}));
  expect_mentions(differences, {"a0", "a1", "a2", "6 more"});
  EXPECT_EQ(differences.find("a3"), std::string::npos);
}

// A task without names has observations obs[0], obs[1], ...: nothing is known of them.
TEST(PolicyMatch, NumbersWithoutNamesAgreeWithAll) {
  EXPECT_EQ(
      policy_differences(std::vector<NamedNumber>{{"obs[0]", ""}, {"v", ""}}, {}, spec_of({{"x", "m"}, {"v", ""}}, {})),
      "");
  EXPECT_NE(
      policy_differences(std::vector<NamedNumber>{{"obs[1]", ""}, {"v", ""}}, {}, spec_of({{"x", "m"}, {"v", ""}}, {})),
      "");
}

// Names, units and scales of a checkpoint, as export/exported_policy.cpp writes them.
TEST(PolicyMatch, ACheckpointIsComparedByWhatItRecords) {
  const auto bytes = [](auto... values) {
    const std::array numbers = {values...};
    const auto all = std::as_bytes(std::span(numbers));
    return std::vector<std::byte>(all.begin(), all.end());
  };
  Checkpoint checkpoint;
  checkpoint.attributes = {{"policy/observation_names", "x\nv"},
                           {"policy/observation_units", "m\nm/s"},
                           {"policy/action_names", "push"},
                           {"policy/action_units", "N"}};
  checkpoint.tensors = {{"policy/action/unit_scale", DType::f64, {1}, bytes(0.5)},
                        {"policy/observation/steps_before", DType::i32, {2}, bytes(0, 1)}};
  const std::vector<NamedNumber> actions = {{"push", "N", 0.5}};
  NamedNumber v{"v", "m/s"};
  v.steps_before = 1;
  require_policy_of_task(checkpoint, "a.h5", spec_of({{"x", "m"}, v}, actions));
  // Checkpoints of earlier versions do not record the scales of observations, such as 5 of height_scan.
  require_policy_of_task(checkpoint, "a.h5", spec_of({{"x", "m", 5}, v}, actions));
  const auto refused = [&](const PolicySpec& spec) {
    return error_from<UsageError>([&] { require_policy_of_task(checkpoint, "a.h5", spec); });
  };
  expect_mentions(refused(spec_of({v, {"x", "m"}}, actions)), {"a.h5", "Two", "observation 0 is x"});
  expect_mentions(refused(spec_of({{"x", "m"}, v}, {{"push", "N"}})), {"action 0", "0.5"});
  require_policy_of_task(Checkpoint{}, "old.h5", spec_of({v}, actions));
}

}  // namespace
}  // namespace drl

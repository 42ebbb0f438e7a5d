#include "sweep/space.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "../support/mentions.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

const Space kSpace = parse_space(
    "seed = choose 7 8\n[ppo]\nlearning_rate = log 1e-4 1e-2  # a comment\nentropy_coef = uniform 0 0.01\n"
    "num_learning_epochs = int 2 8\n",
    "space.ini");

TEST(Space, HasFullNamesAndRanges) {
  ASSERT_EQ(kSpace.size(), 4u);
  EXPECT_EQ(kSpace[0].name, "seed");
  EXPECT_EQ(kSpace[0].choices, (std::vector<std::string>{"7", "8"}));
  EXPECT_EQ(kSpace[1].name, "ppo.learning_rate");
  EXPECT_EQ(kSpace[1].low, 1e-4);
  EXPECT_EQ(kSpace[1].high, 1e-2);
  EXPECT_EQ(kSpace[3].line, 5);
  EXPECT_EQ(extremes(kSpace[3]), (Values{"2", "8"}));
}

TEST(Space, RefusesWhatIsNoRange) {
  const auto expect_refusal = [](const std::string& text, const std::vector<std::string>& words) {
    try {
      parse_space(text, "f.ini");
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      for (const std::string& word : words) expect_mentions(error.what(), {word.c_str()});
    }
  };
  expect_refusal("", {"f.ini", "no option"});
  expect_refusal("\na = 1 2", {"f.ini:2: ", "a = 1 2"});
  expect_refusal("a = uniform 2 2", {"lower"});
  expect_refusal("a = uniform 3 2", {"lower"});
  expect_refusal("a = log 0 1", {"positive"});
  expect_refusal("a = log -1 1", {"positive"});
  expect_refusal("a = int 1 2.5", {"whole"});
  expect_refusal("a = uniform 1", {"two numbers"});
  expect_refusal("a = uniform 1 x", {"two numbers"});
  expect_refusal("a = uniform 1 inf", {"two numbers"});
  expect_refusal("a = choose", {"nothing"});
  expect_refusal("a = choose 1 2 1", {"1 is there twice"});
  expect_refusal("a = int 1 2\na = int 1 3", {"f.ini:2: ", "line 1"});
}

TEST(Space, SamplesDependOnSeedAndTrialOnly) {
  EXPECT_EQ(sample(kSpace, 1, 5), sample(kSpace, 1, 5));
  EXPECT_NE(sample(kSpace, 1, 5), sample(kSpace, 1, 6));
  EXPECT_NE(sample(kSpace, 1, 5), sample(kSpace, 2, 5));
}

// Of 4000 trials, half are below the geometric mean of a logarithmic range (within five standard deviations), and each
// whole number occurs.
TEST(Space, SamplesAreUniformOnTheirScales) {
  constexpr int kTrials = 4000;
  int low_rate = 0, low_entropy = 0;
  std::map<std::string, int> seeds, epochs;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Values values = sample(kSpace, 3, trial);
    const double rate = std::stod(values[1]), entropy = std::stod(values[2]);
    EXPECT_GE(rate, 1e-4);
    EXPECT_LE(rate, 1e-2);
    low_rate += rate < 1e-3, low_entropy += entropy < 0.005;
    ++seeds[values[0]], ++epochs[values[3]];
  }
  const double sigma = std::sqrt(kTrials * 0.25);
  EXPECT_NEAR(low_rate, kTrials / 2, 5 * sigma);
  EXPECT_NEAR(low_entropy, kTrials / 2, 5 * sigma);
  EXPECT_NEAR(seeds["7"], kTrials / 2, 5 * sigma);
  ASSERT_EQ(epochs.size(), 7u);
  for (const auto& [value, count] : epochs)
    EXPECT_NEAR(count, kTrials / 7.0, 5 * std::sqrt(kTrials * 6.0 / 49)) << value;
}

TEST(Space, AGridHasAllCombinations) {
  const std::vector<Values> all = grid(kSpace, 3);
  ASSERT_EQ(all.size(), 2u * 3 * 3 * 3);
  EXPECT_EQ(all[0], (Values{"7", "0.0001", "0", "2"}));
  EXPECT_EQ(all[1], (Values{"7", "0.0001", "0", "5"}));
  EXPECT_EQ(all[9], (Values{"7", "0.001", "0", "2"}));  // the middle of a logarithmic range
  EXPECT_EQ(all.back(), (Values{"8", "0.01", "0.01", "8"}));
  EXPECT_EQ(grid(parse_space("a = int 1 2", "f"), 5), (std::vector<Values>{{"1"}, {"2"}}));
  EXPECT_THROW(grid(kSpace, 1000), UsageError);
}

TEST(Space, PerturbsByTheFactorWithinTheRange) {
  const Values middle = {"7", "0.001", "0.004", "4"};
  EXPECT_EQ(perturbed(kSpace, middle, 1, 0, 0, 1), middle);
  std::map<std::string, std::set<std::string>> seen;
  for (int trial = 0; trial < 50; ++trial) {
    const Values changed = perturbed(kSpace, middle, 1.25, 0, trial, 1);
    EXPECT_EQ(changed, perturbed(kSpace, middle, 1.25, 0, trial, 1));
    for (size_t k = 0; k < changed.size(); ++k) seen[kSpace[k].name].insert(changed[k]);
  }
  EXPECT_EQ(seen["seed"], (std::set<std::string>{"7", "8"}));  // nothing is below the first choice
  EXPECT_EQ(seen["ppo.learning_rate"], (std::set<std::string>{"0.0008", "0.00125"}));
  EXPECT_EQ(seen["ppo.entropy_coef"], (std::set<std::string>{"0.0032", "0.005"}));
  EXPECT_EQ(seen["ppo.num_learning_epochs"], (std::set<std::string>{"3", "5"}));
  for (int trial = 0; trial < 20; ++trial)
    EXPECT_LE(std::stod(perturbed(kSpace, {"8", "0.009", "0.01", "8"}, 1.25, 0, trial, 1)[1]), 0.01);
}

}  // namespace
}  // namespace drl

#include "run/state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "../mpi_main.hpp"
#include "../support/mentions.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

using test::world;

// Two kinds of state: replicated fields, and per_env fields with two rows per rank.
struct Holder {
  Holder() {
    state = list_state([this](StateVisitor& v) { visit(v); });
  }
  void visit(StateVisitor& v) {
    v.array("policy/weight", weight.data(), {2, 2});
    v.scalar("trainer/steps", steps);
    v.array("env/age", age.data(), {2}, Sharding::per_env);
    v.array("env/x", x.data(), {2, 3}, Sharding::per_env);
  }
  std::vector<float> weight = std::vector<float>(4);
  int64_t steps = 0;
  std::vector<int32_t> age = std::vector<int32_t>(2);
  std::vector<double> x = std::vector<double>(6);
  StateList state;
};

void fill(Holder& h) {
  h.weight = {1, 2, 3, 4};
  h.steps = int64_t{1} << 40;
  h.age = {10 * world().rank(), 10 * world().rank() + 1};
  h.x.assign(6, 0.5 + world().rank());
  h.state = list_state([&](StateVisitor& v) { h.visit(v); });  // the vectors moved
}

template <class T>
std::vector<T> numbers(const Tensor& tensor) {
  std::vector<T> result(tensor.data.size() / sizeof(T));
  std::memcpy(result.data(), tensor.data.data(), tensor.data.size());
  return result;
}

TEST(StateOnRanks, GatherMakesOneTensorPerField) {
  Holder h;
  fill(h);
  const std::vector<Tensor> tensors = gather_state(h.state, world());
  const int64_t size = world().size();
  ASSERT_EQ(tensors.size(), world().rank() == 0 ? 4u : 0u);
  if (world().rank() != 0) return;
  EXPECT_EQ(tensors[0].name, "policy/weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(numbers<float>(tensors[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(tensors[1].shape, (std::vector<int64_t>{}));
  EXPECT_EQ(numbers<int64_t>(tensors[1])[0], int64_t{1} << 40);
  EXPECT_EQ(tensors[2].shape, (std::vector<int64_t>{2 * size}));
  EXPECT_EQ(tensors[3].shape, (std::vector<int64_t>{2 * size, 3}));
  for (int64_t rank = 0; rank < size; ++rank) {
    EXPECT_EQ(numbers<int32_t>(tensors[2])[2 * rank + 1], 10 * rank + 1);
    EXPECT_EQ(numbers<double>(tensors[3])[6 * rank], 0.5 + static_cast<double>(rank));
  }
}

TEST(StateOnRanks, RestoreGivesEachRankItsRows) {
  Holder from, to;
  fill(from);
  Checkpoint checkpoint;
  checkpoint.tensors = gather_state(from.state, world());
  if (world().rank() == 0) {
    EXPECT_EQ(difference_of_environments(to.state, checkpoint, world().size()), "");
  }
  restore_state(to.state, checkpoint, world());
  EXPECT_EQ(to.weight, from.weight);
  EXPECT_EQ(to.steps, from.steps);
  EXPECT_EQ(to.age, from.age);
  EXPECT_EQ(to.x, from.x);
}

TEST(StateOnRanks, RestoreKeepsEnvironmentsOnRequest) {
  Holder from, to;
  fill(from);
  to.age = {7, 8};
  to.x = {1, 2, 3, 4, 5, 6};
  Checkpoint checkpoint;
  checkpoint.tensors = gather_state(from.state, world());
  restore_state(to.state, checkpoint, world(), world().rank() != 0);  // rank 0 decides
  EXPECT_EQ(to.weight, from.weight);
  EXPECT_EQ(to.age, (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(to.x, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(StateOnRanks, EnvironmentsThatDifferAreExplained) {
  Holder h;
  const Tensor age{"env/age", DType::i32, {6}, std::vector<std::byte>(24)},
      x{"env/x", DType::f64, {6, 3}, std::vector<std::byte>(144)};
  const auto difference = [&](const std::vector<Tensor>& tensors) {
    return difference_of_environments(h.state, {{}, tensors}, 3);  // 3 ranks with two environments each
  };
  EXPECT_EQ(difference({age, x}), "");
  Tensor other = x;
  other.shape = {6, 4};
  expect_mentions(difference({age, other}), {"env/x", "[6, 4]", "[6, 3]"});
  other.shape = {5, 3};  // the number of environments is the reason, whatever else differs
  const std::string number = difference({other});
  expect_mentions(number, {"5 environments", "6"});
  EXPECT_EQ(number.find("env/age"), std::string::npos) << number;
  other = x, other.type = DType::f32;
  expect_mentions(difference({age, other}), {"env/x", "float32", "float64"});
  expect_mentions(difference({x}), {"env/age", "missing"});
}

TEST(StateOnRanks, RequireStateNamesTheFirstDifference) {
  Holder h;
  const auto error_with = [&](std::vector<Tensor> tensors) {
    return error_from<UsageError>([&] { require_state(h.state, {{}, tensors}, "c.h5"); });
  };
  const Tensor weight{"policy/weight", DType::f32, {2, 2}, std::vector<std::byte>(16)},
      steps{"trainer/steps", DType::i64, {}, std::vector<std::byte>(8)};
  const Tensor wide{"policy/weight", DType::f32, {2, 3}, std::vector<std::byte>(24)};
  EXPECT_EQ(error_with({weight, steps}), "no error");  // environments may be missing
  expect_mentions(error_with({wide, steps}), {"c.h5", "policy/weight", "[2, 3]", "[2, 2]", "drl_checkpoint show"});
  expect_mentions(error_with({weight}), {"c.h5", "trainer/steps", "missing", "drl_checkpoint show"});
  const Tensor doubles{"policy/weight", DType::f64, {2, 2}, std::vector<std::byte>(32)};
  expect_mentions(error_with({doubles, steps}),
                  {"policy/weight", std::string(name_of(DType::f64)), std::string(name_of(DType::f32))});
}

TEST(StateOnRanks, PolicyStateIsWeightsAndNormaliser) {
  double x = 0;
  const StateList all = list_state([&](StateVisitor& v) {
    for (const char* name :
         {"policy/actor/0/weight", "optimizer/m", "normalizer/obs/mean", "trainer/iteration", "env/age"})
      v.scalar(name, x);
  });
  const StateList policy = policy_state(all);
  ASSERT_EQ(policy.size(), 2u);
  EXPECT_EQ(policy[0].name, "policy/actor/0/weight");
  EXPECT_EQ(policy[1].name, "normalizer/obs/mean");
}

TEST(StateOnRanks, BroadcastCopiesOnlyReplicatedFields) {
  Holder h;
  fill(h);
  h.weight[2] = static_cast<float>(world().rank());
  const std::vector<int32_t> age = h.age;
  broadcast_state(h.state, world());
  EXPECT_EQ(h.weight[2], 0);
  EXPECT_EQ(h.age, age);
}

TEST(FingerprintOnRanks, DependsOnEveryBitOfEveryReplicatedField) {
  Holder h;
  fill(h);
  const double before = fingerprint(hash_state(h.state));
  EXPECT_EQ(before, std::floor(before));
  EXPECT_LT(before, 0x1p48);
  for (const StateField& field : h.state)
    for (size_t bit = 0; bit < 8 * field.bytes(); ++bit) {
      std::byte& byte = static_cast<std::byte*>(field.data)[bit / 8];
      byte ^= std::byte{1} << (bit % 8);
      EXPECT_EQ(fingerprint(hash_state(h.state)) != before, field.sharding == Sharding::replicated)
          << field.name << " bit " << bit;
      byte ^= std::byte{1} << (bit % 8);
    }
  EXPECT_EQ(fingerprint(hash_state(h.state)), before);
}

TEST(FingerprintOnRanks, DependsOnTheOrderOfNumbers) {
  Holder h;
  fill(h);
  const double before = fingerprint(hash_state(h.state));
  std::swap(h.weight[0], h.weight[3]);
  EXPECT_NE(fingerprint(hash_state(h.state)), before);
}

TEST(DescribeDivergenceOnRanks, NamesTheRankAndTheFirstTensor) {
  Holder h;
  fill(h);
  const int bad = world().size() == 4 ? 2 : 1;
  if (world().rank() == bad) h.steps += 1;
  const std::string expected = world().size() == 1 ? "" : "rank " + std::to_string(bad) + " in trainer/steps";
  EXPECT_EQ(describe_divergence(h.state, hash_state(h.state), world()), expected);
}

// Three of four ranks agree and count as correct, although rank 0 is not among them.
TEST(DescribeDivergenceOnRanks, TrustsTheMajority) {
  Holder h;
  fill(h);
  if (world().rank() == 0) h.weight[1] = 9;
  const std::string text = describe_divergence(h.state, hash_state(h.state), world());
  const std::string wrong = world().size() == 4 ? "0" : "1";  // one against one: rank 0 counts as correct
  EXPECT_EQ(text, world().size() == 1 ? "" : "rank " + wrong + " in policy/weight");
}

}  // namespace
}  // namespace drl

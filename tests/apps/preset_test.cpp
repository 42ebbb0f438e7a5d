// Trains a preset to its end, with a seed with which it once failed.
#include <cmath>

#include "programs.hpp"

namespace drl::test {
namespace {

// Returns the critic's value of one observation. Hidden layers are tanh, and observations are not normalised.
double value(const Checkpoint& checkpoint, std::vector<double> x) {
  const auto numbers = [&](int layer, const char* name) {
    const Tensor* tensor = checkpoint.find("policy/critic/" + std::to_string(layer) + "/" + name);
    return tensor ? reinterpret_cast<const float*>(tensor->data.data()) : nullptr;
  };
  for (int layer = 0; numbers(layer, "bias"); ++layer) {
    if (layer > 0)
      for (double& unit : x) unit = std::tanh(unit);
    const Tensor& bias = *checkpoint.find("policy/critic/" + std::to_string(layer) + "/bias");
    const float* weight = numbers(layer, "weight");
    std::vector<double> out(static_cast<size_t>(bias.shape[0]));
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = numbers(layer, "bias")[i];
      for (double input : x) out[i] += *weight++ * input;
    }
    x = out;
  }
  return x.at(0);
}

// Values of up to 50 once saturated the critic's last hidden layer, so that all states had the same value. The policy
// then learned only from noise, and its return fell below 500 again. A pole at 0.2 rad that falls at 3 rad/s passes 12
// degrees in the next step with any action: its value is 1. The value of an upright pole is 1 / (1 - 0.98) = 50.
TEST(Preset, SolvesCartPoleWithACriticThatDistinguishesStates) {
  const Runs runs("CartPole-v1");
  const Result trained = run_program({kTrain, "--task", "CartPole-v1", "--seed", "7001", "--threads", "1", "--quiet",
                                      "--runs_dir", runs.path(), "--run_name", "r"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Result played = run_program({kEval, "--run", runs.run("r"), "--json"});
  EXPECT_GE(nlohmann::json::parse(played.out).at("return").at("mean"), 475);
  const Checkpoint last = read_checkpoint(checkpoint_file(runs.run("r"), newest_checkpoint(runs.run("r"))));
  const double upright = value(last, {0, 0, 0, 0});
  EXPECT_LT(value(last, {0, 0, 0.2, 3}), 0.6 * upright);
  EXPECT_LT(value(last, {0, 0, -0.2, -3}), 0.6 * upright);
}

}  // namespace
}  // namespace drl::test

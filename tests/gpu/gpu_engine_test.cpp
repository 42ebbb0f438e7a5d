#include "nets/gpu/gpu_nets.hpp"

#include "../learn/helpers.hpp"
#include "gpu_rig.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name, activation, std_type;
  bool discrete;
  int actions, critic_obs;
  int64_t samples, tile;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class GpuEngineTest : public GpuTest, public testing::WithParamInterface<Case> {};

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, double relative,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - expected[i]));
  }
  EXPECT_LE(difference, relative * largest) << what;
}

// The same up to the rounding of sums.
TEST_P(GpuEngineTest, AgreesWithPlainLoopsInDouble) {
  const Case& c = GetParam();
  Random random(17);
  TaskSpec task = c.discrete ? categorical_task(5, c.actions) : gaussian_task(5, c.actions);
  task.critic_obs_dim = c.critic_obs;
  PolicyOptions policy;
  policy.actor_hidden_dims = {16, 21};
  policy.critic_hidden_dims = {32};
  policy.activation = c.activation;
  policy.std_type = c.std_type;
  const NetworkSpec spec = network_spec(task, policy);
  const auto layout = network_layout(spec);
  std::vector<float> params(parameter_count(layout));
  initialize_parameters(spec, policy, 3, params);
  if (const int64_t at = std_offset(layout); at >= 0)
    for (int k = 0; k < c.actions; ++k)
      params[at + k] = spec.log_std ? uniform(random, -0.3, 0.3) : uniform(random, 0.7, 1.3);
  const int64_t n = 10000;
  Rollout rollout(task, 1, n);
  fill_random(rollout, random);
  fill_uniform(rollout.critic_obs, random, -1, 1);
  const std::vector<float> mean = {0.1f, -0.2f, 0.3f, 0, 0.5f, 1, -1}, inv_std = {1, 2, 0.5f, 1.5f, 3, 1, 0.7f};
  const std::vector<float> critic_mean = {-0.3f, 0.4f, 0, 0.2f, 1, -1, 0.6f};
  const std::vector<float> critic_inv_std = {2, 1, 3, 0.5f, 1, 1.2f, 0.8f};
  Normalizers normalizers{{mean.data(), inv_std.data()}, {}};
  if (c.critic_obs) normalizers.critic_obs = {critic_mean.data(), critic_inv_std.data()};
  std::vector<int32_t> rows = first_rows(n);
  std::shuffle(rows.begin(), rows.end(), random);
  rows.resize(static_cast<size_t>(c.samples));
  const LossSettings loss{0.2f, 0.2f, 0.7f, 0.01f, 0.1f, 0.8f};
  LoopEngine loops(spec);

  gpu::Stream stream;
  const auto engine = make_gpu_engine(spec, stream);
  engine->reserve(c.tile, stream);  // less than there are: large calls are cut up
  const auto d_params = to_device(stream, params);
  const auto d_mean = to_device(stream, mean), d_inv_std = to_device(stream, inv_std);
  const auto d_critic_mean = to_device(stream, critic_mean), d_critic_inv_std = to_device(stream, critic_inv_std);
  Normalizers d_normalizers{{d_mean.data(), d_inv_std.data()}, {}};
  if (c.critic_obs) d_normalizers.critic_obs = {d_critic_mean.data(), d_critic_inv_std.data()};
  auto obs = to_device(stream, rollout.obs), critic_obs = to_device(stream, rollout.critic_obs);
  auto policy_out = to_device(stream, rollout.policy_out), std = to_device(stream, rollout.std);
  auto action = to_device(stream, rollout.action), log_prob = to_device(stream, rollout.log_prob);
  auto value = to_device(stream, rollout.value), advantage = to_device(stream, rollout.advantage);
  auto return_target = to_device(stream, rollout.return_target);
  auto choice = to_device(stream, rollout.choice);
  RolloutView view = rollout.view();
  view.obs = obs.data(), view.critic_obs = critic_obs.data(), view.policy_out = policy_out.data();
  view.std = std.data(), view.action = action.data(), view.log_prob = log_prob.data(), view.value = value.data();
  view.advantage = advantage.data(), view.return_target = return_target.data(), view.choice = choice.data();
  const auto d_rows = to_device(stream, rows);
  const auto d_loss = to_device(stream, &loss, 1);

  // Policy and values.
  gpu::Array<float> out(n * static_cast<size_t>(c.actions), stream), values(n, stream);
  engine->policy(d_params.data(), d_normalizers, view.obs, n, out.data(), stream);
  engine->values(d_params.data(), d_normalizers, view.critic_input(), n, values.data(), stream);
  const LoopMlp actor(spec, "actor");
  std::vector<float> expected_out;
  for (int64_t i = 0; i < n; ++i) {
    float x[5];
    for (int k = 0; k < 5; ++k) x[k] = (rollout.obs[i * 5 + k] - mean[k]) * inv_std[k];
    const std::vector<double> y = actor.forward(params.data(), x).back();
    expected_out.insert(expected_out.end(), y.begin(), y.end());
  }
  expect_close(to_host(stream, out.data(), out.size()), expected_out, 1e-6, "policy");
  std::vector<float> expected_values(n);
  loops.values(params.data(), normalizers, rollout.critic_input(), n, expected_values.data());
  expect_close(to_host(stream, values.data(), n), expected_values, 1e-6, "values");

  // The gradient and its tail.
  const size_t size = params.size() + kTailSize;
  std::vector<float> expected(size);
  loops.gradient(params.data(), normalizers, rollout, {rows, loss}, expected.data());
  gpu::Array<float> gradient(size, stream);
  for (int round = 0; round < 2; ++round)  // nothing is left over from the call before
    engine->gradient(d_params.data(), d_normalizers, view, d_rows.data(), c.samples, d_loss.data(), gradient.data(),
                     stream);
  const std::vector<float> actual = to_host(stream, gradient.data(), size);
  const auto part = [&](const std::vector<float>& all, size_t first, size_t count) {
    return std::vector<float>(all.begin() + static_cast<ptrdiff_t>(first),
                              all.begin() + static_cast<ptrdiff_t>(first + count));
  };
  for (const ParamSlice& slice : layout) {
    const size_t first = static_cast<size_t>(slice.offset), count = static_cast<size_t>(slice.count());
    expect_close(part(actual, first, count), part(expected, first, count), 2e-5, slice.name);
  }
  for (size_t k = params.size(); k < size; ++k)
    EXPECT_NEAR(actual[k], expected[k], 2e-5 * std::abs(expected[k]) + 1e-3) << "tail " << k - params.size();
  EXPECT_EQ(actual[params.size()], static_cast<float>(c.samples));
}

INSTANTIATE_TEST_SUITE_P(Cases, GpuEngineTest,
                         testing::Values(Case{"GaussianElu", "elu", "log", false, 3, 0, 3333, 1000},
                                         Case{"GaussianScalarTanh", "tanh", "scalar", false, 2, 7, 1000, 1000},
                                         Case{"CategoricalTanh", "tanh", "log", true, 4, 0, 2500, 1000},
                                         Case{"CategoricalRelu", "relu", "log", true, 2, 7, 17, 1000},
                                         // Sums over so many rows are cut into slices, with rows left over.
                                         Case{"LargeTile", "tanh", "log", false, 2, 0, 9001, 10000}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl

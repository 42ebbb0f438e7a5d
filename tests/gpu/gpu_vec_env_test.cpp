#include "envs/gpu_vec_env.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include "drl/philox.hpp"
#include "gpu/reduce.hpp"
#include "gpu_rig.hpp"

namespace drl {
namespace {

using namespace test;

// The fields of a state by name, as raw bytes.
struct Fields final : StateVisitor {
  void field(const StateField& field) override {
    const auto* bytes = static_cast<const std::byte*>(field.data);
    values[field.name] = {bytes, bytes + field.bytes()};
  }
  std::map<std::string, std::vector<std::byte>> values;
};

// One row of arrays, in host memory.
struct Row {
  Row(const TaskSpec& spec, int64_t n)
      : obs(n * spec.obs_dim),
        final_obs(n * spec.obs_dim),
        reward(n),
        terminated(n),
        truncated(n),
        numbers(n),
        values(n * spec.action.size) {}
  std::vector<float> obs, final_obs, reward;
  std::vector<uint8_t> terminated, truncated;
  std::vector<int32_t> numbers;
  std::vector<float> values;
};

class GpuVecEnvTest : public GpuTest, public testing::WithParamInterface<std::string> {};

// For the same seed and actions host and device give the same episodes. On the device functions are compiled without
// fused multiplications and use the same polynomials, so that they agree to the bit.
TEST_P(GpuVecEnvTest, DoesWhatTheCpuDoes) {
  const int64_t n = 300, steps = 700;
  const EnvConfig config{n, 1000, 11, true};
  const std::unique_ptr<VecEnv> cpu = make_env(GetParam(), config);
  gpu::Stream stream;
  const std::unique_ptr<GpuVecEnv> device = make_gpu_env(GetParam(), config, stream);
  const TaskSpec& spec = cpu->spec();
  Row host(spec, n);
  const auto obs = to_device(stream, host.obs), final_obs = to_device(stream, host.final_obs);
  const auto reward = to_device(stream, host.reward);
  const auto terminated = to_device(stream, host.terminated), truncated = to_device(stream, host.truncated);
  const auto numbers = to_device(stream, host.numbers);
  const auto values = to_device(stream, host.values);
  const auto row_of = [&](auto& r, const void* action) {
    return StepRow{action,
                   const_cast<float*>(r.obs),
                   nullptr,
                   const_cast<float*>(r.reward),
                   const_cast<uint8_t*>(r.terminated),
                   const_cast<uint8_t*>(r.truncated),
                   const_cast<float*>(r.final_obs),
                   nullptr};
  };
  struct Pointers {
    const float *obs, *reward, *final_obs;
    const uint8_t *terminated, *truncated;
  } cpu_row{host.obs.data(), host.reward.data(), host.final_obs.data(), host.terminated.data(), host.truncated.data()},
      gpu_row{obs.data(), reward.data(), final_obs.data(), terminated.data(), truncated.data()};
  const bool discrete = spec.action.discrete;
  const StepRow on_cpu = row_of(cpu_row, discrete ? static_cast<const void*>(host.numbers.data()) : host.values.data());
  const StepRow on_gpu = row_of(gpu_row, discrete ? static_cast<const void*>(numbers.data()) : values.data());
  cpu->reset(on_cpu);
  device->reset(on_gpu, stream);
  const int64_t first_step = 40;
  const auto first = to_device(stream, &first_step, 1);
  int64_t ends = 0;
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 0; i < n; ++i) {
      const Words4 bits = random_bits(99, Purpose::benchmark, static_cast<uint64_t>(i), static_cast<uint64_t>(t));
      host.numbers[i] = static_cast<int32_t>(bits[0] % static_cast<uint32_t>(spec.action.size));
      for (int k = 0; !discrete && k < spec.action.size; ++k)
        host.values[i * spec.action.size + k] =
            spec.action.low[k] + (spec.action.high[k] - spec.action.low[k]) * uniform01(bits[k]);
    }
    gpu::copy_to_device(stream, const_cast<int32_t*>(numbers.data()), host.numbers.data(), host.numbers.size());
    gpu::copy_to_device(stream, const_cast<float*>(values.data()), host.values.data(), host.values.size());
    cpu->step(first_step + t, on_cpu);
    device->step(first.data(), t, on_gpu, stream);
    ASSERT_EQ(to_host(stream, obs.data(), obs.size()), host.obs) << "step " << t;
    ASSERT_EQ(to_host(stream, reward.data(), reward.size()), host.reward) << "step " << t;
    ASSERT_EQ(to_host(stream, terminated.data(), n), host.terminated) << "step " << t;
    ASSERT_EQ(to_host(stream, truncated.data(), n), host.truncated) << "step " << t;
    ASSERT_EQ(to_host(stream, final_obs.data(), final_obs.size()), host.final_obs) << "step " << t;
    for (int64_t i = 0; i < n; ++i) ends += host.terminated[i] + host.truncated[i];
  }
  EXPECT_GT(ends, n / 2);

  gpu::StateMirror mirror;
  device->mirror_state(mirror);
  mirror.fetch(stream, Sharding::per_env);
  gpu::synchronize(stream);
  Fields cpu_fields, gpu_fields;
  cpu->visit_state(cpu_fields);
  device->visit_state(gpu_fields);
  EXPECT_EQ(gpu_fields.values, cpu_fields.values);

  const EpisodeSums sums = cpu->take_episode_sums();
  const int columns = device->episode_columns();
  ASSERT_EQ(columns, 4 + static_cast<int>(spec.reward_terms.size()));
  gpu::Array<double> out(columns, stream), scratch(gpu::reduction_size(columns), stream);
  device->take_episode_sums(out.data(), scratch.data(), stream);
  const std::vector<double> taken = to_host(stream, out.data(), columns);
  EXPECT_EQ(taken[0], sums.count);
  EXPECT_EQ(taken[3], sums.length);
  EXPECT_NEAR(taken[1], sums.reward, 1e-9 * std::abs(sums.reward) + 1e-9);
  EXPECT_NEAR(taken[2], sums.reward_squared, 1e-9 * sums.reward_squared + 1e-9);
  for (size_t t = 0; t < sums.terms.size(); ++t)
    EXPECT_NEAR(taken[4 + t], sums.terms[t], 1e-9 * std::abs(sums.terms[t]) + 1e-9);
  device->take_episode_sums(out.data(), scratch.data(), stream);
  EXPECT_EQ(to_host(stream, out.data(), columns), std::vector<double>(columns, 0.0));
}

// Rows in device memory.
struct DeviceRow {
  DeviceRow(const TaskSpec& spec, int64_t n, const gpu::Stream& stream)
      : obs(n * spec.obs_dim, stream),
        final_obs(n * spec.obs_dim, stream),
        reward(n, stream),
        terminated(n, stream),
        truncated(n, stream) {}
  StepRow with(const void* action) {
    return {action, obs.data(), nullptr, reward.data(), terminated.data(), truncated.data(), final_obs.data(), nullptr};
  }
  gpu::Array<float> obs, final_obs, reward;
  gpu::Array<uint8_t> terminated, truncated;
};

std::map<std::string, std::vector<std::byte>> state_of(GpuVecEnv& env, const gpu::Stream& stream) {
  gpu::StateMirror mirror;
  env.mirror_state(mirror);
  mirror.fetch(stream, Sharding::per_env);
  gpu::synchronize(stream);
  Fields fields;
  env.visit_state(fields);
  return fields.values;
}

std::vector<double> episodes_of(GpuVecEnv& env, const gpu::Stream& stream) {
  const int columns = env.episode_columns();
  gpu::Array<double> out(columns, stream), scratch(gpu::reduction_size(columns), stream);
  env.take_episode_sums(out.data(), scratch.data(), stream);
  return to_host(stream, out.data(), columns);
}

// Many random steps in one kernel lead where the same actions lead one by one.
TEST_P(GpuVecEnvTest, StepsRandomlyAsOneByOne) {
  const int64_t n = 70, first_step = 40, steps = 1300;
  const EnvConfig config{n, 1000, 11, true};
  gpu::Stream stream;
  const std::unique_ptr<GpuVecEnv> fast = make_gpu_env(GetParam(), config, stream);
  const std::unique_ptr<GpuVecEnv> slow = make_gpu_env(GetParam(), config, stream);
  const TaskSpec& spec = slow->spec();
  DeviceRow device(spec, n, stream);
  fast->reset(device.with(nullptr), stream);
  slow->reset(device.with(nullptr), stream);

  gpu::Array<float> checksum(n, stream);
  fast->step_randomly(first_step, 250, checksum.data(), stream);
  std::vector<double> expected(n), sums(n);
  const auto add = [&](std::vector<double>& to, const gpu::Array<float>& from) {
    const std::vector<float> numbers = to_host(stream, from.data(), from.size());
    for (size_t k = 0; k < numbers.size(); ++k) to[k / (numbers.size() / n)] += static_cast<double>(numbers[k]);
  };
  add(sums, checksum);
  fast->step_randomly(first_step + 250, steps - 250, checksum.data(), stream);
  add(sums, checksum);

  const auto first = to_device(stream, &first_step, 1);
  Row host(spec, n);
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 0; i < n; ++i) {
      const Words4 bits = random_bits(11, Purpose::benchmark, static_cast<uint64_t>(1000 + i), first_step + t);
      host.numbers[i] = static_cast<int32_t>(std::floor(uniform01(bits[0]) * static_cast<float>(spec.action.size)));
      for (int k = 0; !spec.action.discrete && k < spec.action.size; ++k)
        host.values[i * spec.action.size + k] =
            spec.action.low[k] + (spec.action.high[k] - spec.action.low[k]) * uniform01(bits[k]);
    }
    const auto numbers = to_device(stream, host.numbers);
    const auto values = to_device(stream, host.values);
    DRL_GPU(gpuMemsetAsync(device.final_obs.data(), 0, device.final_obs.size() * sizeof(float), stream.get()));
    slow->step(first.data(), t,
               device.with(spec.action.discrete ? static_cast<const void*>(numbers.data()) : values.data()), stream);
    for (const gpu::Array<float>* part : {&device.reward, &device.obs, &device.final_obs}) add(expected, *part);
  }
  EXPECT_EQ(state_of(*fast, stream), state_of(*slow, stream));
  const std::vector<double> episodes = episodes_of(*fast, stream);
  EXPECT_GT(episodes[0], 0);
  EXPECT_EQ(episodes, episodes_of(*slow, stream));
  for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(sums[i], expected[i], 1e-3 * std::abs(expected[i]) + 0.1) << i;
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuVecEnvTest, testing::ValuesIn(task_names()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace drl

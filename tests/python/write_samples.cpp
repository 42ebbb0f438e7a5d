// write_samples DIRECTORY: writes a checkpoint, a recording and the event files of a resumed run. The Python tests read
// them and contain the same values.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "report/tensorboard.hpp"
#include "store/checkpoint.hpp"
#include "store/recording.hpp"

namespace {

template <class T>
drl::Tensor tensor(const std::string& name, const std::vector<T>& values, const std::vector<int64_t>& shape) {
  drl::Tensor result{name, drl::dtype_of<T>(), shape, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(result.data.data(), values.data(), result.data.size());
  return result;
}

void write_checkpoint(const std::filesystem::path& path) {
  std::vector<float> large(1000 * 701);
  std::iota(large.begin(), large.end(), 0.0f);
  drl::write_checkpoint(
      path,
      {{{"task", std::string("Zürich")}, {"iteration", int64_t{150}}, {"elapsed_seconds", 1.5}},
       {tensor<float>("policy/actor/0/weight", {1, 2, 3, 4, 5, -0.5f}, {2, 3}),
        tensor<double>("normalizer/mean", {0.1, -1e300}, {2}), tensor<int32_t>("env/count", {-2147483647, 7}, {2, 1}),
        tensor<int64_t>("step", {1234567890123}, {}), tensor<uint8_t>("flags", {0, 1, 255}, {3}),
        tensor<float>("empty", {}, {0, 4}), tensor<float>("large", large, {1000, 701})}});
}

void write_recording(const std::filesystem::path& path) {
  drl::Recording recording({{"task", std::string("Pendulum-v1")}, {"dt", 0.05}});
  recording.add({.observations = {1, 2, 3, 4, 5, 6},
                 .actions = {.continuous = {.5f, -.5f}},
                 .policy_actions = {.continuous = {1, -9}},
                 .rewards = {-1, -2},
                 .terminated = {0, 0},
                 .truncated = {0, 1}});
  recording.add({.observations = {7, 8, 9, 10},
                 .actions = {.discrete = {3}},
                 .policy_actions = {.discrete = {2}},
                 .rewards = {1},
                 .terminated = {1},
                 .truncated = {0}});
  recording.write(path);
}

drl::IterationMetrics metrics_of(int64_t iteration, double reward) {
  return {.iteration = iteration,
          .metrics = {{"", "", "Perf/total_fps", 1e6},
                      {"", "", "Train/mean_reward", reward},
                      {"", "", "Train/mean_episode_length", 210},
                      {"", "", "Loss/value", 2},
                      {"", "", "Policy/kl", 0.01},
                      {"", "", "Perf/collection_time", 5},
                      {"", "", "Perf/learning_time", 6},
                      {"", "", "Perf/waiting_time", 7},
                      {"", "", "Episode/alive", 0.5 * static_cast<double>(iteration)}}};
}

// Writes iterations 1 to 10, where the reward is the iteration (NaN in the first). Then resumes at iteration 6 and
// writes up to iteration 12, where the reward is 100 + iteration.
void write_events(const std::filesystem::path& directory) {
  std::filesystem::create_directory(directory);
  drl::EventWriter first(directory);
  first.append_text("options", "num_envs = 512");
  // A GIF of two pixels, 2 x 1 (GIF89a specification): header, screen, palette of black and white, image, data, end.
  constexpr unsigned char kGif[] = {'G', 'I',  'F', '8', '9', 'a', 2, 0, 1, 0, 0x80, 0, 0, 0,    0,    0, 255, 255,
                                    255, 0x2c, 0,   0,   0,   0,   2, 0, 1, 0, 0,    2, 2, 0x44, 0x0a, 0, 0x3b};
  first.append_film("film", {reinterpret_cast<const char*>(kGif), sizeof(kGif)}, 5);
  first.append_hparams({{"num_envs", "512"}, {"ppo.gamma", "0.99"}, {"policy.activation", "elu"}, {"fresh", "true"}});
  for (int i = 1; i <= 10; ++i) first.append(metrics_of(i, i == 1 ? std::nan("") : i));
  first.flush();
  drl::EventWriter second(directory, 6);
  for (int i = 7; i <= 12; ++i) second.append(metrics_of(i, 100 + i));
  second.flush();
}

}  // namespace

int main(int, char** argv) {
  const std::filesystem::path directory = argv[1];
  write_checkpoint(directory / "checkpoint.h5");
  write_recording(directory / "recording.h5");
  write_events(directory / "events");
}

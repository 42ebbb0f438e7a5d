#include "store/recording.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

template <class T>
std::vector<T> values(const Checkpoint& file, const std::string& name) {
  const Tensor* tensor = file.find(name);
  if (!tensor || tensor->type != dtype_of<T>()) throw std::runtime_error("no " + name);
  std::vector<T> result(tensor->data.size() / sizeof(T));
  std::memcpy(result.data(), tensor->data.data(), tensor->data.size());
  return result;
}

using Shape = std::vector<int64_t>;

TEST(Recording, HasOneGroupPerEpisode) {
  const TempFolder folder;
  Recording recording({{"task", std::string("Pendulum-v1")}, {"dt", 0.05}});
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
  recording.write(folder / "r.h5");
  const Checkpoint file = read_arrays(folder / "r.h5", "drl-recording");
  EXPECT_EQ(std::get<double>(file.attributes.at("dt")), 0.05);
  EXPECT_EQ(file.tensors.size(), 12u);
  EXPECT_EQ(file.find("episode_000000/observations")->shape, (Shape{3, 2}));
  EXPECT_EQ(file.find("episode_000000/actions")->shape, (Shape{2, 1}));
  EXPECT_EQ(file.find("episode_000001/observations")->shape, (Shape{2, 2}));
  EXPECT_EQ(file.find("episode_000001/actions")->shape, (Shape{1}));
  EXPECT_EQ(values<float>(file, "episode_000000/observations"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values<float>(file, "episode_000000/actions"), (std::vector<float>{.5f, -.5f}));
  EXPECT_EQ(values<float>(file, "episode_000000/policy_actions"), (std::vector<float>{1, -9}));
  EXPECT_EQ(values<float>(file, "episode_000000/rewards"), (std::vector<float>{-1, -2}));
  EXPECT_EQ(values<uint8_t>(file, "episode_000000/truncated"), (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(values<int32_t>(file, "episode_000001/actions"), (std::vector<int32_t>{3}));
  EXPECT_EQ(values<int32_t>(file, "episode_000001/policy_actions"), (std::vector<int32_t>{2}));
  EXPECT_EQ(values<uint8_t>(file, "episode_000001/terminated"), (std::vector<uint8_t>{1}));
}

TEST(Recording, HasOneRowOfDiscreteActionsPerStep) {
  const TempFolder folder;
  Recording recording({});
  recording.add({.observations = {1, 2, 3},
                 .actions = {.discrete = {0, 1, 2, 3}},
                 .policy_actions = {.discrete = {0, 0, 2, 3}},
                 .rewards = {1, 2},
                 .terminated = {0, 1},
                 .truncated = {0, 0}});
  recording.write(folder / "r.h5");
  const Checkpoint file = read_arrays(folder / "r.h5", "drl-recording");
  EXPECT_EQ(file.find("episode_000000/actions")->shape, (Shape{2, 2}));
  EXPECT_EQ(values<int32_t>(file, "episode_000000/actions"), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(Recording, RefusesArraysOfDifferentLength) {
  Recording recording({});
  const Episode whole = {.observations = {1, 2, 3},
                         .actions = {.continuous = {1, 2}},
                         .policy_actions = {.continuous = {1, 2}},
                         .rewards = {1, 2},
                         .terminated = {0, 1},
                         .truncated = {0, 0}};
  EXPECT_NO_THROW(recording.add(whole));
  for (const auto& spoil : std::vector<std::function<void(Episode&)>>{
           [](Episode& e) { e.terminated.pop_back(); }, [](Episode& e) { e.observations.pop_back(); },
           [](Episode& e) { e.actions.continuous.pop_back(); }, [](Episode& e) { e.policy_actions = {}; }}) {
    Episode spoilt = whole;
    spoil(spoilt);
    EXPECT_THROW(recording.add(spoilt), Error);
  }
}

}  // namespace
}  // namespace drl

// Resumes runs whose environments have states that no run can save: files that were changed.
#include <cmath>
#include <cstring>
#include <limits>

#include "programs.hpp"

namespace drl::test {
namespace {

struct Case {
  std::string name, task, arrays;  // arrays: those that are also changed alone
  Words options = {};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

template <class T>
void fill(std::vector<std::byte>& bytes, T value) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) std::memcpy(&bytes[at], &value, sizeof(T));
}

// Sets all numbers of the environments' states, or one array alone.
void change(const fs::path& file, const std::string& which, double value) {
  Checkpoint checkpoint = read_checkpoint(file);
  for (Tensor& tensor : checkpoint.tensors) {
    if (!tensor.name.starts_with(which)) continue;
    if (tensor.type == DType::f32) fill(tensor.data, static_cast<float>(value));
    if (tensor.type == DType::f64) fill(tensor.data, value);
    constexpr int32_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max() / 2;
    if (tensor.type == DType::i32) fill(tensor.data, std::isnan(value) ? kLeast : value < 0 ? -997 : kMost);
  }
  write_checkpoint(file, checkpoint);
}

class ForeignStates : public testing::TestWithParam<Case> {};

// A number that leads out of an array reads other memory, so that two starts end differently, or are killed.
TEST_P(ForeignStates, LeadToOneEndOrOneError) {
  const std::string& task = GetParam().task;
  const std::string model = task.starts_with("Go1") ? "go1_robot.xml" : task.starts_with("G1") ? "g1_robot.xml" : "";
  if (!fs::exists(built("share/drl/models/" + model))) GTEST_SKIP() << "run tools/fetch_robots, and build";
  const Runs runs(task);
  const auto train = [&](const std::string& run, const Words& more) {
    return runs.train("--device cpu --ranks 1 --num_envs 16 --num_steps_per_env 24"_words + Words{"--run_name", run} +
                      GetParam().options + more);
  };
  expect_exit(train("r", {"--max_iterations", "1"}), 0);
  for (const std::string& which : {std::string("env/"), GetParam().arrays})
    for (const double value : {1e9, -1e9, std::numeric_limits<double>::quiet_NaN()}) {
      SCOPED_TRACE(which + " = " + std::to_string(value));
      std::vector<int> codes;
      std::vector<std::vector<Tensor>> ends;
      for (const std::string run : {"a", "b"}) {
        fs::remove_all(runs.run(run));
        fs::copy(runs.run("r"), runs.run(run), fs::copy_options::recursive);
        change(checkpoint_file(runs.run(run), 1), which, value);
        codes.push_back(train(run, {"--load_run", run, "--max_iterations", "2"}).exit_code);
        const fs::path file = checkpoint_file(runs.run(run), 2);
        ends.push_back(fs::exists(file) ? read_checkpoint(file).tensors : std::vector<Tensor>());
      }
      EXPECT_TRUE(codes[0] == 0 || codes[0] == 1) << codes[0];
      EXPECT_EQ(codes[0], codes[1]);
      EXPECT_EQ(ends[0], ends[1]);
    }
}

const Words kSmallGround = "--env.terrain_rows 2 --env.terrain_columns 2"_words;

INSTANTIATE_TEST_SUITE_P(
    Tasks, ForeignStates,
    testing::Values(
#if defined(DRL_MUJOCO)
        Case{"Rough", "Go1-Velocity-Rough", "env/state/terrain", kSmallGround},
        Case{"RoughWithLibmujoco", "Go1-Velocity-Rough", "env/state/terrain",
             kSmallGround + "--env.physics mujoco"_words},
        Case{"Tracking", "G1-Tracking", "env/state/frame"},
#endif
        Case{"Delays", "Pendulum-v1", "env/delay/",
             "--env.delay.action 0,2 --env.delay.observation 1,3 --env.sensor_error theta_dot=-1,1"_words}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl::test

// Tests drl_export on runs, as a user types it.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "../support/temp_folder.hpp"
#include "store/recording.hpp"

namespace drl::test {
namespace {

namespace fs = std::filesystem;

const std::string kExport = bin("drl_export");

// A run of a task, trained for some iterations, and a recording of its policy.
struct Trained {
  explicit Trained(const std::string& task, const Words& more = {}) {
    run_program(Words{bin("drl_train"), "--task", task, "--num_envs", "32", "--max_iterations", "3", "--quiet",
                      "--runs_dir", folder.path().string(), "--run_name", "r"} +
                more);
    run = (folder / task / "r").string();
    recording = (folder / "episodes.h5").string();
    run_program({bin("drl_eval"), "--run", run, "--episodes", "4", "--record", recording});
  }
  fs::path file(const std::string& name) const { return fs::path(run) / "checkpoints" / name; }
  TempFolder folder;
  std::string run, recording;
};

TEST(DrlExport, WritesThreeFilesBesideTheCheckpoint) {
  const Trained trained("CartPole-v1");
  const Result result = run_program({kExport, "--run", trained.run});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"policy.onnx", "policy.h", "policy.json"}) {
    EXPECT_GT(fs::file_size(trained.file(name)), 100u) << name;
    expect_mentions(result.out, {trained.file(name).string()});
  }
  const std::string before = slurp(trained.file("policy.h"));
  const Result again = run_program({kExport, "--run", trained.run});
  EXPECT_EQ(again.exit_code, 2);
  expect_mentions(again.err, {"error: ", "policy.onnx", "--force"});
  EXPECT_EQ(run_program({kExport, "--run", trained.run, "--force", "--real", "double"}).exit_code, 0);
  EXPECT_NE(slurp(trained.file("policy.h")), before);
}

// The directory of the policies that come with drl is not the user's.
TEST(DrlExport, WritesAPolicyThatComesWithDrlToTheWorkingDirectory) {
  const TempFolder folder;
  const Result result =
      run_program({kExport, "--checkpoint", "pretrained/CartPole-v1"}, {}, [&] { fs::current_path(folder.path()); });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"policy.onnx", "policy.h", "policy.json"}) {
    const std::string content = slurp(folder / name);
    expect_mentions(content, {"pretrained/CartPole-v1"});
    EXPECT_EQ(content.find("/pretrained"), std::string::npos) << name << " names no directory of this machine";
  }
}

TEST(DrlExport, VerifiesRecordingsOfPoliciesOfAllKinds) {
  for (const auto& [task, more] : {std::pair<std::string, Words>{"CartPole-v1", {}},
                                   {"Pendulum-v1", {"--ppo.obs_normalization"}},
                                   {"Pendulum-v1", {"--policy.state_dependent_std"}},
                                   {"Pendulum-v1", {"--policy.distribution", "beta"}},
                                   {"Cartpole", {"--policy.distribution", "squashed_gaussian"}},
                                   {"MountainCarContinuous-v0", {"--policy.layer_norm", "--policy.activation", "gelu"}},
                                   {"Cartpole", {"--policy.activation", "silu"}}}) {
    const Trained trained(task, more);
    const Result result = run_program({kExport, "--run", trained.run, "--verify", trained.recording});
    EXPECT_EQ(result.exit_code, 0) << task << "\n" << result.err;
    expect_mentions(result.out, {"C: ", "ONNX: ", "4 episodes"});
    EXPECT_FALSE(fs::exists(trained.file("policy.h")));
  }
}

TEST(DrlExport, VerifiesFilesThatExist) {
  const Trained trained("Pendulum-v1");
  const std::string onnx = (trained.folder / "a.onnx").string(), header = (trained.folder / "a.h").string();
  const Words verify = {kExport, "--run", trained.run, "--onnx", onnx, "--c", header, "--verify", trained.recording};
  ASSERT_EQ(run_program({kExport, "--run", trained.run, "--onnx", onnx, "--c", header}).exit_code, 0);
  const std::string written = slurp(header);
  const Result good = run_program(verify);
  EXPECT_EQ(good.exit_code, 0) << good.err;
  expect_mentions(good.out, {onnx + ": ", header + ": "});
  EXPECT_EQ(good.out.find("wrote"), std::string::npos);
  EXPECT_EQ(slurp(header), written);
  // A header that always acts alike.
  const size_t body = written.find("{\n", written.find("static inline void drl_a_act(")) + 2;
  std::ofstream(header) << written.substr(0, body) << "  action[0] = -1;\n  return;\n" << written.substr(body);
  const Result bad = run_program(verify);
  EXPECT_EQ(bad.exit_code, 1);
  expect_mentions(bad.err, {header});
  EXPECT_EQ(run_program(verify + Words{"--force"}).exit_code, 0) << "it writes the files anew";
}

// Checkpoints of the version before the group policy/, which tests/export/old/README.md describes.
TEST(DrlExport, ExportsCheckpointsOfBeforeTheGroupPolicy) {
  for (const std::string name : {"discrete", "continuous", "grpo"}) {
    const TempFolder folder;
    const std::string file = test_data("export/old/") + name + ".h5", recording = (folder / "episodes.h5").string(),
                      header = (folder / "policy.h").string();
    const Checkpoint old = read_checkpoint(file);
    ASSERT_FALSE(old.attributes.contains("policy/task")) << name;
    const Result evaluated =
        run_program({bin("drl_eval"), "--checkpoint", file, "--episodes", "5", "--record", recording});
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    const Result exported = run_program({kExport, "--checkpoint", file, "--c", header, "--verify", recording});
    EXPECT_EQ(exported.exit_code, 0) << exported.err;
    expect_mentions(exported.out, {"5 episodes"});
    expect_mentions(slurp(header), {std::get<std::string>(old.attributes.at("task"))});
  }
}

TEST(DrlExport, RefusesCheckpointsOfBeforeTheGroupPolicyThatLackNumbers) {
  const TempFolder folder;
  const std::string file = (folder / "old.h5").string(), header = (folder / "policy.h").string();
  const Checkpoint whole = read_checkpoint(test_data("export/old/continuous.h5"));
  ASSERT_NE(whole.find("normalizer/obs/count"), nullptr);
  const auto refused = [&](const std::string& array, const Checkpoint& damaged) {
    write_checkpoint(file, damaged);
    const Result result = run_program({kExport, "--checkpoint", file, "--c", header});
    EXPECT_EQ(result.exit_code, 2);
    expect_mentions(result.err, {file, array});
    EXPECT_FALSE(fs::exists(header));
  };
  for (const std::string array : {"normalizer/obs/count", "normalizer/obs/mean", "policy/actor/0/weight"}) {
    Checkpoint empty = whole, missing = whole;
    for (Tensor& tensor : empty.tensors)
      if (tensor.name == array) tensor.shape = {0}, tensor.data.clear();
    refused(array, empty);
    std::erase_if(missing.tensors, [&](const Tensor& tensor) { return tensor.name == array; });
    refused(array, missing);
  }
}

// Two more iterations of such a run. Its directory is what that version left, with the checkpoint's own options.
TEST(DrlExport, ResumesRunsOfBeforeTheGroupPolicy) {
  for (const std::string name : {"discrete", "continuous", "grpo"}) {
    const TempFolder folder;
    const fs::path file = test_data("export/old/") + name + ".h5";
    const Checkpoint old = read_checkpoint(file);
    const fs::path run = folder / std::get<std::string>(old.attributes.at("task")) / "old";
    fs::create_directories(run / "checkpoints");
    std::ofstream(run / "options.ini") << std::get<std::string>(old.attributes.at("options"));
    fs::copy_file(file, run / "checkpoints/iter_000002.h5");
    ASSERT_EQ(std::get<int64_t>(old.attributes.at("iteration")), 2);
    const Result resumed = run_program({bin("drl_train"), "--load_run", run.string(), "--task",
                                        std::get<std::string>(old.attributes.at("task")), "--max_iterations", "4",
                                        "--runs_dir", folder.path().string()});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_mentions(resumed.out + resumed.err, {"from iteration 2"});
    const Checkpoint now = read_checkpoint(run / "checkpoints/iter_000004.h5");
    EXPECT_TRUE(now.attributes.contains("policy/task")) << name;
    for (const Tensor& tensor : old.tensors) {
      ASSERT_NE(now.find(tensor.name), nullptr) << tensor.name;
      EXPECT_EQ(now.find(tensor.name)->shape, tensor.shape) << tensor.name;
    }
  }
}

TEST(DrlExport, FailsIfARecordedActionDiffers) {
  const Trained trained("Pendulum-v1");
  Checkpoint content = read_recording(trained.recording);
  for (Tensor& tensor : content.tensors)
    if (tensor.name == "episode_000001/policy_actions") {
      float action = 0;
      std::memcpy(&action, tensor.data.data() + 4 * sizeof(float), sizeof(float));
      action += 1e-3f;
      std::memcpy(tensor.data.data() + 4 * sizeof(float), &action, sizeof(float));
    }
  write_arrays(trained.recording, "drl-recording", content);
  const Result result = run_program({kExport, "--run", trained.run, "--verify", trained.recording});
  EXPECT_EQ(result.exit_code, 1);
  expect_mentions(result.err, {"error: ", "step 4", "episode 1"});
}

// Delayed actions are not those of the policy, which a recording of before `policy_actions` has as `actions`.
TEST(DrlExport, VerifiesDelayedActionsAndOldRecordings) {
  const Trained trained("Pendulum-v1", "--env.delay.action 2,2"_words);
  const Words verify = {kExport, "--run", trained.run, "--verify", trained.recording};
  const Result delayed = run_program(verify);
  EXPECT_EQ(delayed.exit_code, 0) << delayed.err;
  Checkpoint content = read_recording(trained.recording);
  std::erase_if(content.tensors, [](const Tensor& tensor) { return tensor.name.ends_with("/actions"); });
  for (Tensor& tensor : content.tensors)
    if (const size_t at = tensor.name.find("policy_actions"); at != std::string::npos)
      tensor.name.replace(at, std::string::npos, "actions");
  write_arrays(trained.recording, "drl-recording", content);
  const Result old = run_program(verify);
  EXPECT_EQ(old.exit_code, 0) << old.err;
}

TEST(DrlExport, RefusesRecordingsOfAnotherTask) {
  const Trained trained("Pendulum-v1"), other("CartPole-v1");
  const Result result = run_program({kExport, "--run", trained.run, "--verify", other.recording});
  EXPECT_EQ(result.exit_code, 2);
  expect_mentions(result.err, {"error: ", "CartPole-v1", "Pendulum-v1"});
  const Result checkpoint =
      run_program({kExport, "--run", trained.run, "--verify", trained.file("iter_000003.h5").string()});
  EXPECT_EQ(checkpoint.exit_code, 2);
  const std::string header = (trained.folder / "a.h").string();
  EXPECT_EQ(run_program({kExport, "--run", trained.run, "--c", header, "--verify", other.recording}).exit_code, 2);
  EXPECT_FALSE(fs::exists(header));
}

TEST(DrlExport, VerifyRefusesOtherFiles) {
  const Trained trained("CartPole-v1");
  const std::string text = (trained.folder / "text").string();
  std::ofstream(text) << "no header\n";
  for (const std::string& file : {text, trained.folder.path().string(), std::string("/dev/null")})
    for (const std::string option : {"--c", "--onnx"}) {
      const Result result = run_program({kExport, "--run", trained.run, option, file, "--verify", trained.recording});
      EXPECT_EQ(result.exit_code, 2) << option << file;
      expect_mentions(result.err, {option == "--onnx" && file == text ? "the ONNX model" : file});
      EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    }
}

TEST(DrlExport, WritesNothingIfOneFileCannotBeWritten) {
  const Trained trained("CartPole-v1");
  const fs::path onnx = trained.folder / "a.onnx";
  const Result result = run_program({kExport, "--run", trained.run, "--onnx", onnx.string(), "--c", "/nowhere/a.h"});
  EXPECT_EQ(result.exit_code, 2);
  expect_mentions(result.err, {"error: ", "--c", "/nowhere"});
  EXPECT_FALSE(fs::exists(onnx));
}

TEST(DrlExport, RefusesTwoOutputsWithOneName) {
  const Trained trained("CartPole-v1");
  const std::string file = (trained.folder / "p").string();
  const Result result = run_program({kExport, "--run", trained.run, "--onnx", file, "--c", file});
  EXPECT_EQ(result.exit_code, 2);
  expect_mentions(result.err, {"--onnx", "--c"});
  EXPECT_FALSE(fs::exists(file));
  const std::string checkpoint = trained.file("iter_000003.h5").string();
  EXPECT_EQ(run_program({kExport, "--run", trained.run, "--c", checkpoint, "--force"}).exit_code, 2);
}

// libtorch computes the recorded actions from the TorchScript module.
TEST(DrlExport, TorchScriptActsAsRecorded) {
  if (!fs::exists(built("tests/export/run_script"))) GTEST_SKIP() << "built without libtorch";
  for (const auto& [task, more] :
       {std::pair<std::string, Words>{"CartPole-v1", {}},
        {"Pendulum-v1", {"--policy.distribution", "beta"}},
        {"Pendulum-v1", {"--ppo.obs_normalization", "--policy.layer_norm", "--policy.activation", "elu"}}}) {
    const Trained trained(task, more);
    const fs::path module = trained.folder / "policy.pt";
    ASSERT_EQ(run_program({kExport, "--run", trained.run, "--torchscript", module.string()}).exit_code, 0);
    const Checkpoint recording = read_recording(trained.recording);
    const Tensor& observations = *recording.find("episode_000000/observations");
    const Tensor& actions = *recording.find("episode_000000/actions");
    const auto inputs = static_cast<size_t>(observations.shape[1]);
    std::ofstream input(trained.folder / "in");
    for (size_t k = 0; k < observations.data.size() / 4 - inputs; ++k) {
      float x = 0;
      std::memcpy(&x, observations.data.data() + 4 * k, 4);
      input.precision(9);
      input << x << ((k + 1) % inputs ? ' ' : '\n');
    }
    input.close();
    const Result result = run_program({"sh", "-c",
                                       built("tests/export/run_script") + " " + module.string() + " " +
                                           std::to_string(inputs) + " < " + (trained.folder / "in").string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::istringstream out(result.out);
    for (int64_t t = 0; t < actions.shape[0]; ++t) {
      double found = 0, recorded = 0;
      ASSERT_TRUE(out >> found);
      if (actions.type == DType::i32) {
        int32_t choice = 0;
        std::memcpy(&choice, actions.data.data() + 4 * t, 4);
        recorded = choice;
      } else {
        float value = 0;
        std::memcpy(&value, actions.data.data() + 4 * t, 4);
        recorded = value;
      }
      EXPECT_NEAR(found, recorded, 1e-6) << task << ", step " << t;
    }
  }
}

}  // namespace
}  // namespace drl::test

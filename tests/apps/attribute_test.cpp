// Checkpoints that lack an attribute, or have another in its place.
#include <gtest/gtest.h>

#include <set>

#include "programs.hpp"

namespace drl::test {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Attributes : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(runs.train({"--run_name", "r", "--max_iterations", "2"}).exit_code, 0);
    checkpoint = read_checkpoint(checkpoint_file(runs.run("r"), 2));
  }
  Words train() const {
    return runs.command({"--checkpoint", file, "--run_name", "s", "--fresh", "--max_iterations", "3"});
  }
  Words eval() const { return {kEval, "--checkpoint", file, "--episodes", "1"}; }
  // True if all is well; else it must have been one line about that attribute of that file.
  bool accepted(const Words& command, const std::string& name) const {
    const Result result = run_program(command);
    if (result.exit_code == 0) return true;
    EXPECT_EQ(result.exit_code, 2) << name << ": " << result.err;
    EXPECT_EQ(result.err, "error: checkpoint " + file + " has no attribute \"" + name +
                              "\" (it was not made by drl_train, or changed since): name another file\n");
    return false;
  }

  Runs runs;
  Checkpoint checkpoint;
  const std::string file = runs.folder / "changed.h5";
};

TEST_F(Attributes, EachMayBeMissing) {
  const std::set<std::string> train_needs = {"task", "options", "elapsed_seconds"}, eval_needs = {"task", "options"};
  for (const auto& [name, value] : checkpoint.attributes) {
    if (name.starts_with("format")) continue;  // every file has it
    Checkpoint changed = checkpoint;
    changed.attributes.erase(name);
    write_checkpoint(file, changed);
    EXPECT_EQ(accepted(train(), name), !train_needs.contains(name)) << name;
    EXPECT_EQ(accepted(eval(), name), !eval_needs.contains(name)) << name;
    EXPECT_EQ(run_program({kShow, "show", file}).exit_code, 0) << name;
  }
}

TEST_F(Attributes, MayBeOfAnotherType) {
  for (const char* name : {"task", "options", "elapsed_seconds"}) {
    Checkpoint changed = checkpoint;
    changed.attributes[name] = int64_t{3};
    write_checkpoint(file, changed);
    EXPECT_FALSE(accepted(train(), name));
  }
}

// What is not known about the surroundings may have changed.
TEST_F(Attributes, ThatTellTheSurroundingsAreMissed) {
  checkpoint.attributes.erase("git_hash");
  write_checkpoint(file, checkpoint);
  const Result result = run_program(train());
  EXPECT_TRUE(holds(result.out + result.err, "(git_hash: not known -> ")) << result.out << result.err;
}

}  // namespace
}  // namespace drl::test

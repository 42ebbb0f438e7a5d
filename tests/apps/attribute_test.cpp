// Reads checkpoints in which an attribute is missing or has another type.
#include <set>

#include "programs.hpp"

namespace drl::test {
namespace {

class Attributes : public testing::Test {
 protected:
  void SetUp() override {
    expect_exit(runs.train("--run_name r --max_iterations 2"_words), 0);
    checkpoint = read_checkpoint(checkpoint_file(runs.run("r"), 2));
  }
  Words train() const {
    return runs.command({"--checkpoint", file, "--run_name", "s", "--fresh", "--max_iterations", "3"});
  }
  Words eval() const { return {kEval, "--checkpoint", file, "--episodes", "1"}; }
  // Returns true if the command succeeds. Otherwise expects a one-line error that names the attribute and the file.
  bool accepted(const Words& command, const std::string& name) const {
    const Result result = run_program(command);
    if (result.exit_code == 0) return true;
    EXPECT_EQ(result.exit_code, 2) << name << ": " << result.err;
    EXPECT_EQ(count_lines(result.err), 1u) << result.err;
    expect_mentions(result.err, {"error: ", file, "\"" + name + "\""});
    return false;
  }

  Runs runs;
  Checkpoint checkpoint;
  const std::string file = runs.folder / "changed.h5";
};

TEST_F(Attributes, AreRequiredOnlyWhereTheyAreUsed) {
  const std::set<std::string> train_needs = {"task", "options", "elapsed_seconds"}, eval_needs = {"task", "options"};
  for (const auto& [name, value] : checkpoint.attributes) {
    if (name.starts_with("format")) continue;  // every file has these
    Checkpoint changed = checkpoint;
    changed.attributes.erase(name);
    write_checkpoint(file, changed);
    EXPECT_EQ(accepted(train(), name), !train_needs.contains(name)) << name;
    EXPECT_EQ(accepted(eval(), name), !eval_needs.contains(name)) << name;
    EXPECT_EQ(run_program({kCheckpointProgram, "show", file}).exit_code, 0) << name;
  }
}

TEST_F(Attributes, OfAnotherTypeAreRefused) {
  for (const char* name : {"task", "options", "elapsed_seconds"}) {
    Checkpoint changed = checkpoint;
    changed.attributes[name] = int64_t{3};
    write_checkpoint(file, changed);
    EXPECT_FALSE(accepted(train(), name));
  }
}

}  // namespace
}  // namespace drl::test

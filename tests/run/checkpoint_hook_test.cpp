#include "run/checkpoint_hook.hpp"

#include <gtest/gtest.h>

#include "../support/mentions.hpp"
#include "../support/process.hpp"

namespace drl {
namespace {

class Hook : public testing::Test {
 protected:
  std::string output() const { return slurp(folder / "log"); }
  bool prints(const std::string& text) const {
    return wait_until([&] { return output() == text; });
  }

  TempFolder folder;
};

TEST_F(Hook, GetsTheCheckpointsPath) {
  CheckpointHook hook("echo \"got $1\"; echo trouble >&2", folder / "log");
  bool done = false;
  hook.run("/a b/iter_000001.h5", [&] { done = true; });
  hook.finish(60);
  EXPECT_EQ(output(), "got /a b/iter_000001.h5\ntrouble\n");
  EXPECT_TRUE(done);
}

TEST_F(Hook, RunsAfterEveryNthCheckpoint) {
  CheckpointHook hook("echo $1", folder / "log", "the video", 2);
  int done = 0;
  for (const char* checkpoint : {"/1", "/2", "/3", "/4", "/5"}) {
    hook.run(checkpoint, [&] { ++done; });
    hook.finish(60);
  }
  EXPECT_EQ(output(), "/2\n/4\n");
  EXPECT_EQ(done, 5);
}

TEST_F(Hook, KeepsItsCheckpointsPendingUntilItHasEnded) {
  CheckpointHook hook("while [ ! -e " + (folder / "go").string() + " ]; do sleep 0.05; done", folder / "log");
  hook.run("/1");
  hook.run("/2");
  EXPECT_EQ(hook.pending_checkpoints(), (std::vector<std::filesystem::path>{"/1", "/2"}));
  spill(folder / "go", "");
  hook.finish(60);
  EXPECT_TRUE(hook.pending_checkpoints().empty());
}

// The second and third checkpoint arrive while the command waits for a file. It then runs for the third.
TEST_F(Hook, RunsOnceAtATimeAndSkipsToTheNewest) {
  const std::string go = (folder / "go").string();
  CheckpointHook hook("echo begin $1; until [ -e " + go + " ]; do sleep 0.01; done; echo end $1", folder / "log");
  hook.run("/1");
  ASSERT_TRUE(prints("begin /1\n"));
  hook.run("/2");
  hook.run("/3");
  hook.poll();
  EXPECT_EQ(output(), "begin /1\n");
  spill(go, "");
  hook.finish(60);
  EXPECT_EQ(output(), "begin /1\nend /1\nbegin /3\nend /3\n");
}

TEST_F(Hook, FailureIsOneWarningWithItsExitCode) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("exit 7", folder / "log");
  for (const char* checkpoint : {"/1.h5", "/2.h5"}) {
    hook.run(checkpoint);
    hook.finish(60);
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_lines(warnings), 1u) << warnings;
  expect_mentions(warnings,
                  {"warning: ", "--after_checkpoint \"exit 7\"", "/1.h5", "exit code 7", (folder / "log").string()});
}

TEST_F(Hook, IsWaitedForWithAMessage) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("sleep 2.5; echo done", folder / "log");
  hook.run("/runs/iter_000009.h5");
  hook.finish(60);
  const std::string messages = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_lines(messages), 1u) << messages;
  expect_mentions(messages, {"--after_checkpoint \"sleep 2.5; echo done\"", "iter_000009.h5"});
  EXPECT_EQ(output(), "done\n");
}

TEST_F(Hook, IsCancelledWhenTheTimeIsUp) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("sleep 1000", folder / "log");
  hook.run("/1.h5");
  hook.run("/2.h5");
  hook.finish(0.2);
  expect_mentions(testing::internal::GetCapturedStderr(),
                  {"warning: ", "--after_checkpoint \"sleep 1000\"", "/1.h5", "time is up"});
}

TEST_F(Hook, IsCancelledWhenAStopIsRequested) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("sleep 1000", folder / "log", "the video");
  bool done = false;
  hook.run("/1.h5", [&] { done = true; });
  hook.run("/2.h5");
  int checks = 0;
  EXPECT_FALSE(hook.finish(600, [&] { return ++checks == 3; }));
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_lines(warnings), 1u) << warnings;
  expect_mentions(warnings, {"warning: ", "the video", "/1.h5", "stop was requested"});
  EXPECT_FALSE(done);
  EXPECT_FALSE(hook.busy());
  EXPECT_TRUE(hook.pending_checkpoints().empty());
}

}  // namespace
}  // namespace drl

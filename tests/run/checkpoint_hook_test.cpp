#include "run/checkpoint_hook.hpp"

#include <gtest/gtest.h>

#include "../support/process.hpp"

namespace drl {
namespace {

class Hook : public testing::Test {
 protected:
  std::string said() const { return slurp(folder / "log"); }
  bool says(const std::string& text) const {
    return wait_until([&] { return said() == text; });
  }

  TempFolder folder;
};

TEST_F(Hook, GetsTheCheckpointsPath) {
  CheckpointHook hook("echo \"got $1\"; echo trouble >&2", folder / "log");
  bool done = false;
  hook.run("/a b/iter_000001.h5", [&] { done = true; });
  hook.finish(60);
  EXPECT_EQ(said(), "got /a b/iter_000001.h5\ntrouble\n");
  EXPECT_TRUE(done);
}

TEST_F(Hook, MayLeaveCheckpointsOut) {
  CheckpointHook hook("echo $1", folder / "log", "the film", 2);
  int done = 0;
  for (const char* checkpoint : {"/1", "/2", "/3", "/4", "/5"}) {
    hook.run(checkpoint, [&] { ++done; });
    hook.finish(60);
  }
  EXPECT_EQ(said(), "/2\n/4\n");
  EXPECT_EQ(done, 5);
}

TEST_F(Hook, NeedsItsCheckpointsUntilItHasEnded) {
  CheckpointHook hook("while [ ! -e " + (folder / "go").string() + " ]; do sleep 0.05; done", folder / "log");
  hook.run("/1");
  hook.run("/2");
  EXPECT_EQ(hook.awaits(), (std::vector<std::filesystem::path>{"/1", "/2"}));
  spill(folder / "go", "");
  hook.finish(60);
  EXPECT_TRUE(hook.awaits().empty());
}

// While the first waits for a file, the second and third arrive: the third follows.
TEST_F(Hook, RunsOnceAtATimeAndSkipsToTheNewest) {
  const std::string go = (folder / "go").string();
  CheckpointHook hook("echo begin $1; until [ -e " + go + " ]; do sleep 0.01; done; echo end $1", folder / "log");
  hook.run("/1");
  ASSERT_TRUE(says("begin /1\n"));
  hook.run("/2");
  hook.run("/3");
  hook.poll();
  EXPECT_EQ(said(), "begin /1\n");
  spill(go, "");
  hook.finish(60);
  EXPECT_EQ(said(), "begin /1\nend /1\nbegin /3\nend /3\n");
}

TEST_F(Hook, FailureIsOneWarningWithItsExitCode) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("exit 7", folder / "log");
  for (const char* checkpoint : {"/1.h5", "/2.h5"}) {
    hook.run(checkpoint);
    hook.finish(60);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: --after_checkpoint \"exit 7\" failed for /1.h5 (exit code 7): see " + (folder / "log").string() +
                "; training goes on, and this is said once\n");
}

TEST_F(Hook, IsWaitedForWithANote) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("sleep 2.5; echo done", folder / "log");
  hook.run("/runs/iter_000009.h5");
  hook.finish(60);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "waiting for --after_checkpoint \"sleep 2.5; echo done\" (iter_000009.h5)\n");
  EXPECT_EQ(said(), "done\n");
}

TEST_F(Hook, IsEndedWhenTimeIsUp) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("sleep 1000", folder / "log");
  hook.run("/1.h5");
  hook.run("/2.h5");
  hook.finish(0.2);
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("warning: --after_checkpoint \"sleep 1000\" is ended (it is still busy with /1.h5, and time "
                     "is up)"),
            std::string::npos)
      << err;
}

TEST_F(Hook, IsEndedWhenAStopIsRequested) {
  testing::internal::CaptureStderr();
  CheckpointHook hook("sleep 1000", folder / "log", "the film");
  bool done = false;
  hook.run("/1.h5", [&] { done = true; });
  hook.run("/2.h5");
  int looks = 0;
  EXPECT_FALSE(hook.finish(600, [&] { return ++looks == 3; }));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: the film is ended (it is still busy with /1.h5, and a stop is requested): see to that later\n");
  EXPECT_FALSE(done);
  EXPECT_FALSE(hook.busy());
  EXPECT_TRUE(hook.awaits().empty());
}

}  // namespace
}  // namespace drl

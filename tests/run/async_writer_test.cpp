#include "run/async_writer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "../support/temp_folder.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

class AsyncWriterTest : public testing::Test {
 protected:
  AsyncWriter::Save save_to(const std::string& name, bool droppable = true, std::function<void()> then = {}) const {
    return {folder / name, {{}, {{"x", DType::u8, {1}, {std::byte{1}}}}}, droppable, std::move(then), {}};
  }
  static IterationMetrics row(int64_t iteration) {
    IterationMetrics metrics;
    metrics.iteration = iteration;
    return metrics;
  }
  size_t rows() const {
    const std::string text = slurp(folder / "m.csv");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) - 1;  // its header
  }

  TempFolder folder;
  AsyncWriter writer{std::make_unique<CsvWriter>(folder / "m.csv", row(0)), nullptr};
};

TEST_F(AsyncWriterTest, FlushWaitsForEverything) {
  writer.append(row(1));
  writer.append(row(2));
  writer.save(save_to("a.h5"));
  EXPECT_TRUE(writer.flush());
  EXPECT_EQ(rows(), 2u);
  EXPECT_TRUE(fs::exists(folder / "a.h5"));
}

// No checkpoint is newer than the rows.
TEST_F(AsyncWriterTest, RowsAreThereBeforeACheckpointIs) {
  size_t rows_then = 0;
  writer.append(row(1));
  writer.save(save_to("a.h5", true, [&] { rows_then = rows(); }));
  writer.flush();
  EXPECT_EQ(rows_then, 1u);
}

// While one save is being written, eight wait in memory; a ninth takes the place of the oldest that may be dropped.
TEST_F(AsyncWriterTest, OfTooManyPendingSavesTheOldestIsDropped) {
  std::promise<void> begun, go_on;
  writer.save(save_to("first.h5", true, [&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  writer.save(save_to("best.h5", false));
  for (const char* name : {"1.h5", "2.h5", "3.h5", "4.h5", "5.h5", "6.h5", "7.h5", "8.h5"}) writer.save(save_to(name));
  go_on.set_value();
  EXPECT_TRUE(writer.flush());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"2.h5", "3.h5", "4.h5", "5.h5", "6.h5", "7.h5", "8.h5", "best.h5",
                                                      "first.h5", "m.csv"}));
}

TEST_F(AsyncWriterTest, TheLastSaveTellsWhetherTheRunIsSaved) {
  testing::internal::CaptureStderr();
  writer.save(save_to("missing/a.h5"));
  EXPECT_FALSE(writer.flush());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("warning: THE CHECKPOINT WAS NOT SAVED"), std::string::npos);
  writer.save(save_to("a.h5"));
  EXPECT_TRUE(writer.flush());
}

// It is saved, though what should follow failed.
TEST_F(AsyncWriterTest, AFailureAfterASaveIsNoFailureOfTheSave) {
  testing::internal::CaptureStderr();
  writer.save(save_to("a.h5", true, [] { throw std::runtime_error("no space for run.json"); }));
  EXPECT_TRUE(writer.flush());
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("a.h5 is saved"), std::string::npos) << warning;
  EXPECT_NE(warning.find("no space for run.json"), std::string::npos) << warning;
}

// While a save is being written another process takes the run over.
TEST_F(AsyncWriterTest, NothingPendingIsWrittenOnceTheRunIsAnothers) {
  std::atomic<bool> mine = true;
  std::promise<void> begun, go_on;
  AsyncWriter lost{std::make_unique<CsvWriter>(folder / "m.csv", row(0)), nullptr, nullptr,
                   [&] { return mine.load(); }};
  lost.save(save_to("a.h5", true, [&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  lost.append(row(1));
  lost.save(save_to("b.h5"));
  mine = false;
  go_on.set_value();
  EXPECT_FALSE(lost.flush());
  mine = true;  // of what the other has written meanwhile this process knows nothing
  lost.save(save_to("c.h5"));
  EXPECT_FALSE(lost.flush());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.h5", "m.csv"}));
  EXPECT_EQ(rows(), 0u);
}

// Which would delete old checkpoints, now the other's.
TEST_F(AsyncWriterTest, NothingFollowsASaveDuringWhichTheRunBecameAnothers) {
  bool followed = false;
  AsyncWriter lost{std::make_unique<CsvWriter>(folder / "m.csv", row(0)), nullptr,
                   std::make_unique<CheckpointHook>("true", folder / "hook.log"),
                   [&] { return !fs::exists(folder / "a.h5"); }};
  lost.save(save_to("a.h5", true, [&] { followed = true; }));
  EXPECT_FALSE(lost.flush());
  EXPECT_FALSE(followed);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.h5", "m.csv"}));
}

}  // namespace
}  // namespace drl

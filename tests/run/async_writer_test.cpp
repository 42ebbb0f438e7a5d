#include "run/async_writer.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/log.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

class AsyncWriterTest : public testing::Test {
 protected:
  AsyncWriter::Save save_to(const std::string& name, bool droppable = true,
                            std::function<void()> after_save = {}) const {
    return {folder / name, {{}, {{"x", DType::u8, {1}, {std::byte{1}}}}}, droppable, std::move(after_save), {}};
  }
  static IterationMetrics row(int64_t iteration) {
    IterationMetrics metrics;
    metrics.iteration = iteration;
    return metrics;
  }
  size_t rows() const {
    const std::string text = slurp(folder / "m.csv");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) - 1;  // without the header
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

TEST_F(AsyncWriterTest, WritesRowsBeforeACheckpoint) {
  size_t rows_then = 0;
  writer.append(row(1));
  writer.save(save_to("a.h5", true, [&] { rows_then = rows(); }));
  writer.flush();
  EXPECT_EQ(rows_then, 1u);
}

// While one save is being written, eight may wait in memory. A ninth replaces the oldest droppable one.
TEST_F(AsyncWriterTest, DropsTheOldestOfTooManyPendingSaves) {
  std::promise<void> started, proceed;
  writer.save(save_to("first.h5", true, [&] {
    started.set_value();
    proceed.get_future().wait();
  }));
  started.get_future().wait();
  writer.save(save_to("best.h5", false));
  for (const char* name : {"1.h5", "2.h5", "3.h5", "4.h5", "5.h5", "6.h5", "7.h5", "8.h5"}) writer.save(save_to(name));
  proceed.set_value();
  EXPECT_TRUE(writer.flush());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"2.h5", "3.h5", "4.h5", "5.h5", "6.h5", "7.h5", "8.h5", "best.h5",
                                                      "first.h5", "m.csv"}));
}

TEST_F(AsyncWriterTest, ASlowWriteIsReported) {
  std::promise<void> started, proceed;
  std::vector<std::string> lines;
  log::set_writer([&](std::string_view line) { lines.emplace_back(line); });
  const std::string file = (folder / "a.h5").string();
  writer.save(save_to("a.h5", true, [&] {
    started.set_value();
    proceed.get_future().wait();
  }));
  started.get_future().wait();
  writer.report_slow_write(1e9);
  EXPECT_TRUE(lines.empty()) << lines[0];
  writer.report_slow_write(0);
  ASSERT_EQ(lines.size(), 1u);
  expect_mentions(lines[0], {"warning: ", file, " s so far"});
  proceed.set_value();
  EXPECT_TRUE(writer.flush());
  log::set_writer({});
  expect_mentions(lines.back(), {file, "has ended after ", "left out meanwhile: 0"});
}

TEST_F(AsyncWriterTest, FlushSaysWhatItWaitsFor) {
  std::promise<void> started, said;
  log::set_writer([&, is_first = true](std::string_view line) mutable {
    if (!std::exchange(is_first, false)) return;
    EXPECT_NE(line.find("waiting until " + (folder / "a.h5").string() + " is written"), line.npos) << line;
    said.set_value();
  });
  writer.save(save_to("a.h5", true, [&] {
    started.set_value();
    said.get_future().wait();  // for ever if flush() says nothing
  }));
  started.get_future().wait();
  EXPECT_TRUE(writer.flush(0));
  log::set_writer({});
}

TEST_F(AsyncWriterTest, FlushReportsWhetherTheLastSaveSucceeded) {
  testing::internal::CaptureStderr();
  writer.save(save_to("missing/too/a.h5"));
  EXPECT_FALSE(writer.flush());
  expect_mentions(testing::internal::GetCapturedStderr(), {"warning: ", "NOT SAVED", "missing/too/a.h5"});
  writer.save(save_to("a.h5"));
  EXPECT_TRUE(writer.flush());
}

// As on a disk that is full for one file: metrics.csv has reached the limit of a file's size, and checkpoints have not.
TEST_F(AsyncWriterTest, RowsThatCannotBeWrittenAreOneWarning) {
  for (int k = 0; k < 20000; ++k) writer.append(row(k));
  EXPECT_TRUE(writer.flush());
  EXPECT_FALSE(writer.lacks_rows());
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{fs::file_size(folder / "m.csv"), before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  testing::internal::CaptureStderr();
  for (const char* name : {"a.h5", "b.h5"}) {
    writer.append(row(1));
    writer.save(save_to(name));
    EXPECT_TRUE(writer.flush()) << name;
    EXPECT_TRUE(writer.lacks_rows());
    EXPECT_TRUE(fs::exists(folder / name));
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  expect_mentions(warnings, {"warning: ", "metrics"});
  EXPECT_EQ(std::ranges::count(warnings, '\n'), 1) << warnings;
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(writer.flush());
  EXPECT_FALSE(writer.lacks_rows());
  EXPECT_EQ(rows(), 20002u);
}

TEST_F(AsyncWriterTest, FailureAfterASaveDoesNotCountAsAFailedSave) {
  testing::internal::CaptureStderr();
  writer.save(save_to("a.h5", true, [] { throw std::runtime_error("no space for run.json"); }));
  EXPECT_TRUE(writer.flush());
  expect_mentions(testing::internal::GetCapturedStderr(), {"warning: ", "a.h5 is saved", "no space for run.json"});
}

// Another process takes over the run while a save is being written.
TEST_F(AsyncWriterTest, WritesNothingPendingOnceTheRunIsTakenOver) {
  std::atomic<bool> mine = true;
  std::promise<void> started, proceed;
  AsyncWriter lost{std::make_unique<CsvWriter>(folder / "m.csv", row(0)), nullptr, nullptr,
                   [&] { return mine.load(); }};
  lost.save(save_to("a.h5", true, [&] {
    started.set_value();
    proceed.get_future().wait();
  }));
  started.get_future().wait();
  lost.append(row(1));
  lost.save(save_to("b.h5"));
  mine = false;
  proceed.set_value();
  EXPECT_FALSE(lost.flush());
  mine = true;  // too late: this process does not know what the other has written meanwhile
  lost.save(save_to("c.h5"));
  EXPECT_FALSE(lost.flush());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.h5", "m.csv"}));
  EXPECT_EQ(rows(), 0u);
}

// The steps after a save would delete old checkpoints, which now belong to the other process.
TEST_F(AsyncWriterTest, SkipsTheStepsAfterASaveIfTheRunWasTakenOver) {
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

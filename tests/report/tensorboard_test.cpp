// Compares bytes with hand-written ones. tests/python reads such files with TensorBoard's own reader.
#include "report/tensorboard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "../support/temp_folder.hpp"
#include "store/crc32c.hpp"

namespace drl {
namespace {

template <class T>
T number_at(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

uint32_t masked(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes_of(bytes));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

// Returns the messages of a TFRecord file. A record is a uint64 length, its masked CRC (uint32), the message, and its
// masked CRC (uint32).
std::vector<std::string> records(const std::string& file) {
  std::vector<std::string> messages;
  for (size_t at = 0; at < file.size();) {
    const auto length = number_at<uint64_t>(file, at);
    EXPECT_EQ(number_at<uint32_t>(file, at + 8), masked(std::string_view(file).substr(at, 8)));
    messages.push_back(file.substr(at + 12, length));
    EXPECT_EQ(number_at<uint32_t>(file, at + 12 + length), masked(messages.back()));
    at += 16 + length;
  }
  return messages;
}

const std::string kTime1000 = std::string("\x09\x00\x00\x00\x00\x00\x40\x8f\x40", 9);  // field 1: double 1000

double time_1000() { return 1000; }

TEST(EventWriter, BeginsWithTheVersionAndKeepsEventsUntilFlush) {
  const TempFolder folder;
  EventWriter writer(folder.path(), std::nullopt, time_1000);
  ASSERT_EQ(folder.names().size(), 1u);
  const std::string name = folder.names()[0];
  EXPECT_TRUE(name.starts_with("events.out.tfevents.0000001000.")) << name;
  writer.append({.iteration = 1});
  EXPECT_EQ(records(slurp(folder / name)), std::vector<std::string>{kTime1000 + "\x1a\x0d"
                                                                                "brain.Event:2"});
  writer.flush();
  EXPECT_EQ(records(slurp(folder / name)).size(), 2u);
}

TEST(EventWriter, ResumeWritesASessionStartAtTheNextStep) {
  const TempFolder folder;
  EventWriter writer(folder.path(), 299, time_1000);
  const std::vector<std::string> events = records(slurp(folder / folder.names()[0]));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1], kTime1000 +
                           "\x10\xac\x02"
                           "\x3a\x02\x08\x01");  // step 300 = 0xac 0x02; session_log { START }
}

TEST(EventWriter, TheNextFileSortsLast) {
  const TempFolder folder;
  for (int i = 0; i < 3; ++i) EventWriter(folder.path(), std::nullopt, time_1000);
  const std::vector<std::string> names = folder.names();
  ASSERT_EQ(names.size(), 3u);
  EXPECT_TRUE(names[2].starts_with("events.out.tfevents.0000001002.")) << names[2];
}

TEST(EventWriter, LeavesOutNansAndMetricsWithoutTag) {
  const TempFolder folder;
  EventWriter writer(folder.path(), std::nullopt, time_1000);
  writer.append({.iteration = 1,
                 .metrics = {{"mean_reward", "", "Train/mean_reward", std::nan("")},
                             {"mean_episode_length", "", "Train/mean_episode_length", 3},
                             {"untagged", "Untagged", "", 3}}});
  writer.flush();
  const std::string event = records(slurp(folder / folder.names()[0])).at(1);
  EXPECT_EQ(event.find("Train/mean_reward"), std::string::npos);
  EXPECT_NE(event.find(std::string("Train/mean_episode_length") + std::string("\x15\x00\x00\x40\x40", 5)),
            std::string::npos);
  const std::string three("\x15\x00\x00\x40\x40", 5);
  EXPECT_EQ(event.find(three), event.rfind(three));
}

}  // namespace
}  // namespace drl

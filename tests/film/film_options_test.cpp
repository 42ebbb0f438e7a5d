#include "film/film_options.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "film/film.hpp"

namespace drl {
namespace {

FilmOptions options(const std::string& video, const std::string& size = "640x480") {
  FilmOptions options;
  options.video = video, options.size = size;
  return options;
}

std::string refusal(const FilmOptions& options) {
  return error_from<UsageError>([&] { film_plan(options); });
}

TEST(FilmOptions, DetermineTheFramesAndTheirDuration) {
  FilmOptions some = options("a/run.gif", "320x200");
  some.fps = 25, some.video_seconds = 4;
  const FilmPlan plan = film_plan(some);
  EXPECT_EQ(plan.format, FilmFormat::gif);
  EXPECT_EQ(plan.width, 320);
  EXPECT_EQ(plan.height, 200);
  EXPECT_EQ(plan.frames, 100);
  EXPECT_DOUBLE_EQ(plan.frame_seconds, 0.04);
  EXPECT_EQ(film_plan(options("run.mp4")).frames, 300);
}

// The twelve pictures cover the whole duration.
TEST(FilmOptions, ASheetHasTwelvePictures) {
  FilmOptions sheet = options("run.png");
  sheet.video_seconds = 6;
  EXPECT_EQ(film_plan(sheet).frames, 12);
  EXPECT_DOUBLE_EQ(film_plan(sheet).frame_seconds, 0.5);
}

TEST(FilmOptions, OtherFormatsAreRefused) {
  for (const char* name : {"run.avi", "run", "mp4", "run.mp4.txt"})
    expect_mentions(refusal(options(name)), {"--video", name, ".mp4", ".gif", ".png"});
}

TEST(FilmOptions, OtherSizesAreRefused) {
  for (const char* size :
       {"640", "640x", "x480", "640x480x3", "641x480", "640x479", "62x64", "4098x64", "-64x64", "axb", ""})
    expect_mentions(refusal(options("run.mp4", size)), {"--size", size, "even", "64", "4096"});
  EXPECT_EQ(refusal(options("run.mp4", "64x4096")), "no error");
}

std::vector<int64_t> steps(double frame_seconds, double dt, int64_t frames) {
  std::vector<int64_t> result;
  for (int64_t frame = 0; frame < frames; ++frame) result.push_back(step_of_frame(frame, frame_seconds, dt));
  return result;
}

// Frames at 0, 33.3, 66.7, 100, 133.3, 166.7 and 200 ms; expected steps are computed by hand.
TEST(FramesOfSteps, ShowTheLatestStep) {
  EXPECT_EQ(steps(1.0 / 30, 0.02, 7), (std::vector<int64_t>{0, 1, 3, 5, 6, 8, 10}));
  EXPECT_EQ(steps(1.0 / 30, 0.05, 7), (std::vector<int64_t>{0, 0, 1, 2, 2, 3, 4}));
  EXPECT_EQ(steps(1.0 / 30, 1.0 / 30, 4), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(step_of_frame(299, 1.0 / 30, 0.02), 498);
}

// A frame at the time of a step shows that step in spite of rounding errors. There are 50 steps per second.
TEST(FramesOfSteps, AreExactAtWholeSeconds) {
  for (int64_t second = 0; second < 3600; ++second) EXPECT_EQ(step_of_frame(30 * second, 1.0 / 30, 0.02), 50 * second);
}

TEST(FramesOfSteps, ShowLongStepsForAFifteenthOfASecond) {
  EXPECT_EQ(steps(1.0 / 30, 1, 5), (std::vector<int64_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(steps(1.0 / 30, 0.2, 5), (std::vector<int64_t>{0, 0, 1, 1, 2}));
}

TEST(FilmLibrary, AMissingLibraryIsAnErrorWithInstructions) {
  const TempFolder folder;
  expect_mentions(error_from<UsageError>([&] { FilmLibrary library(folder / "drl_film.so"); }),
                  {"drl_film.so", "tools/setup", "tools/fetch_mujoco"});
}

TEST(FilmLibrary, AnotherLibraryIsRefused) {
  const TempFolder folder;
  std::ofstream(folder / "drl_film.so") << "no library";
  EXPECT_THROW(FilmLibrary library(folder / "drl_film.so"), UsageError);
}

}  // namespace
}  // namespace drl

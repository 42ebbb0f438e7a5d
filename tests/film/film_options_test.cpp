#include "film/film_options.hpp"

#include <gtest/gtest.h>

#include <vector>

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
  try {
    film_plan(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(FilmOptions, SayFramesAndTheirTime) {
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

// Twelve pictures over the whole time.
TEST(FilmOptions, ASheetHasTwelvePictures) {
  FilmOptions sheet = options("run.png");
  sheet.video_seconds = 6;
  EXPECT_EQ(film_plan(sheet).frames, 12);
  EXPECT_DOUBLE_EQ(film_plan(sheet).frame_seconds, 0.5);
}

TEST(FilmOptions, OtherEndingsAreRefused) {
  for (const char* name : {"run.avi", "run", "mp4", "run.mp4.txt"})
    EXPECT_NE(refusal(options(name)).find("neither with .mp4, .gif nor .png"), std::string::npos) << name;
}

TEST(FilmOptions, OtherSizesAreRefused) {
  for (const char* size :
       {"640", "640x", "x480", "640x480x3", "641x480", "640x479", "62x64", "4098x64", "-64x64", "axb", ""})
    EXPECT_NE(refusal(options("run.mp4", size)).find("even numbers from 64 to 4096"), std::string::npos) << size;
  EXPECT_EQ(refusal(options("run.mp4", "64x4096")), "");
}

std::vector<int64_t> steps(double frame_seconds, double dt, int64_t frames) {
  std::vector<int64_t> result;
  for (int64_t frame = 0; frame < frames; ++frame) result.push_back(step_of_frame(frame, frame_seconds, dt));
  return result;
}

// By hand: frames at 0, 33.3, 66.7, 100, 133.3, 166.7, 200 ms.
TEST(FramesOfSteps, TheLatestStepIsShown) {
  EXPECT_EQ(steps(1.0 / 30, 0.02, 7), (std::vector<int64_t>{0, 1, 3, 5, 6, 8, 10}));
  EXPECT_EQ(steps(1.0 / 30, 0.05, 7), (std::vector<int64_t>{0, 0, 1, 2, 2, 3, 4}));
  EXPECT_EQ(steps(1.0 / 30, 1.0 / 30, 4), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(step_of_frame(299, 1.0 / 30, 0.02), 498);
}

// Frames that fall on a step show it, whatever the last bits say: 50 steps in each second.
TEST(FramesOfSteps, WholeSecondsAreWhole) {
  for (int64_t second = 0; second < 3600; ++second) EXPECT_EQ(step_of_frame(30 * second, 1.0 / 30, 0.02), 50 * second);
}

TEST(FramesOfSteps, LongStepsLastAFifteenthOfASecond) {
  EXPECT_EQ(steps(1.0 / 30, 1, 5), (std::vector<int64_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(steps(1.0 / 30, 0.2, 5), (std::vector<int64_t>{0, 0, 1, 1, 2}));
}

TEST(FilmLibrary, WithoutItOneIsToldHowToGetIt) {
  const TempFolder folder;
  try {
    FilmLibrary library(folder / "drl_film.so");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("tools/fetch_mujoco"), std::string::npos) << error.what();
  }
}

TEST(FilmLibrary, AnotherLibraryIsRefused) {
  const TempFolder folder;
  std::ofstream(folder / "drl_film.so") << "no library";
  EXPECT_THROW(FilmLibrary library(folder / "drl_film.so"), UsageError);
}

}  // namespace
}  // namespace drl

// Tests of video files, which are read with libpng, giflib and ffprobe.
#include <gif_lib.h>
#include <png.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "../support/mentions.hpp"
#include "../support/process.hpp"
#include "pixels.hpp"

namespace drl::test {
namespace {

class FilmFile : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Studio().trouble; !why.empty()) GTEST_SKIP() << why;
  }
  // Shows a ball that moves from left to right in a second, in steps of 0.02 s.
  static void show(Film& film) {
    for (int64_t step = 0; !film.complete(); ++step) {
      if (!film.wants(step)) continue;
      Picture picture;
      Canvas canvas(picture.canvas());
      canvas.look({0, 0, 0}, 4);
      canvas.sphere({-1 + 0.04f * static_cast<float>(step), 0, 0}, 0.3f, Canvas::red);
      film.show(picture);
    }
  }
  FilmOptions options(const std::string& name, int fps = 30) const {
    FilmOptions some;
    some.video = (folder / name).string(), some.size = "160x120", some.fps = fps, some.video_seconds = 1;
    return some;
  }
  void make(const FilmOptions& options) const {
    Film film(options, "", 0.02, 1, kFilmLibrary);
    show(film);
    film.finish();
  }

  TempFolder folder;
};

TEST_F(FilmFile, AGifHasTheRightFramesAndDuration) {
  make(options("ball.gif"));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"ball.gif"});
  int error = 0;
  GifFileType* gif = DGifOpenFileName((folder / "ball.gif").c_str(), &error);
  ASSERT_TRUE(gif);
  ASSERT_EQ(DGifSlurp(gif), GIF_OK);
  EXPECT_EQ(gif->ImageCount, 30);
  EXPECT_EQ(gif->SWidth, 160);
  int hundredths = 0;
  std::vector<uint8_t> shown(3 * 160 * 120);
  std::vector<double> places;
  for (int k = 0; k < gif->ImageCount; ++k) {
    GraphicsControlBlock control;
    ASSERT_EQ(DGifSavedExtensionToGCB(gif, k, &control), GIF_OK);
    hundredths += control.DelayTime;
    for (int p = 0; p < 160 * 120; ++p) {
      const uint8_t color = gif->SavedImages[k].RasterBits[p];
      if (k > 0 && color == control.TransparentColor) continue;
      const GifColorType& rgb = gif->SColorMap->Colors[color];
      shown[3 * p] = rgb.Red, shown[3 * p + 1] = rgb.Green, shown[3 * p + 2] = rgb.Blue;
    }
    places.push_back(find(shown, 160, 120, is_red).x);
  }
  EXPECT_EQ(hundredths, 100);
  EXPECT_TRUE(std::ranges::is_sorted(places));
  EXPECT_NEAR(places.front(), 40, 4);  // 1 m from the left; 4 m are 160 pixels
  EXPECT_NEAR(places.back(), 40 + 0.04 * 48 * 40, 4);
  DGifCloseFile(gif, &error);
}

// Twelve pictures, four per row, at intervals of a twelfth of a second.
TEST_F(FilmFile, APngIsASheetOfTwelvePictures) {
  make(options("ball.png"));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&image, (folder / "ball.png").c_str()));
  image.format = PNG_FORMAT_RGB;
  ASSERT_EQ(image.width, 640u);
  ASSERT_EQ(image.height, 360u);
  std::vector<uint8_t> sheet(PNG_IMAGE_SIZE(image));
  ASSERT_TRUE(png_image_finish_read(&image, nullptr, sheet.data(), 0, nullptr));
  for (int k = 0; k < 12; ++k) {
    std::vector<uint8_t> one;
    for (int y = 0; y < 120; ++y) {
      const auto line = sheet.begin() + ((k / 4 * 120 + y) * 640 + k % 4 * 160) * 3;
      one.insert(one.end(), line, line + 160 * 3);
    }
    const double step = std::floor(k / 12.0 / 0.02 + 1e-9);
    EXPECT_NEAR(find(one, 160, 120, is_red).x, 40 + 0.04 * step * 40, 4) << k;
  }
}

TEST_F(FilmFile, AnMp4HasTheRightFramesAndDuration) {
  if (run_program({"ffprobe", "-version"}).exit_code != 0) GTEST_SKIP() << "ffmpeg is not installed";
  make(options("ball.mp4", 25));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"ball.mp4"});
  const Result probed = run_program({"ffprobe", "-v", "error", "-count_frames", "-show_entries",
                                     "stream=width,height,r_frame_rate,nb_read_frames", "-of", "csv=p=0",
                                     (folder / "ball.mp4").string()});
  EXPECT_EQ(probed.out, "160,120,25/1,25\n") << probed.err;
}

TEST_F(FilmFile, MissingFfmpegIsAnErrorWithInstructions) {
  const std::string path = getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  expect_mentions(error_from<UsageError>([&] { Film film(options("ball.mp4"), "", 0.02, 1, kFilmLibrary); }),
                  {"--video", "ball.mp4", "ffmpeg", "PATH", ".gif"});
  setenv("PATH", path.c_str(), 1);
}

// The error contains ffmpeg's message, no file remains, and SIGPIPE does not kill the process.
TEST_F(FilmFile, AFailureOfFfmpegIsAnError) {
  const std::string path = getenv("PATH");
  const TempFolder bin;
  std::ofstream(bin / "ffmpeg") << "#!/bin/sh\necho no such encoder >&2\nexit 3\n";
  std::filesystem::permissions(bin / "ffmpeg", std::filesystem::perms::owner_all);
  setenv("PATH", (bin.path().string() + ":" + path).c_str(), 1);
  expect_mentions(error_from<Error>([&] { make(options("ball.mp4")); }),
                  {"ball.mp4", "ffmpeg", " 3", "no such encoder"});
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

// There is no file before finish() either, which would remain if the program were killed.
TEST_F(FilmFile, AnUnfinishedVideoLeavesNoFile) {
  const bool ffmpeg = run_program({"sh", "-c", "type ffmpeg"}).exit_code == 0;
  for (const char* name : {"ball.gif", "ball.png", ffmpeg ? "ball.mp4" : "other.gif"}) {
    Film film(options(name), "", 0.02, 1, kFilmLibrary);
    show(film);
    EXPECT_EQ(folder.names(), std::vector<std::string>{}) << name;
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

// The umask determines the permissions, as for other files of the user.
TEST_F(FilmFile, AVideoHasTheUsualPermissions) {
  const mode_t before = umask(022);
  make(options("ball.gif"));
  umask(before);
  EXPECT_EQ(std::filesystem::status(folder / "ball.gif").permissions(), std::filesystem::perms{0644});
}

TEST_F(FilmFile, AMissingDirectoryIsRefused) {
  EXPECT_THROW(make(options("none/ball.gif")), UsageError);
  EXPECT_THROW(make(options("none/ball.png")), UsageError);
}

}  // namespace
}  // namespace drl::test

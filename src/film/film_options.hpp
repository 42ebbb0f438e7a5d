// What a film shall be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/options.hpp"

namespace drl {

struct FilmOptions {
  std::string video;
  std::string camera = "track";
  std::string size = "640x480";
  int fps = 30;
  double video_seconds = 10;

  bool operator==(const FilmOptions&) const = default;
  void describe(OptionVisitor& v) {
    v("video", video, "film of environment 0: FILE.mp4 (by ffmpeg), FILE.gif, or FILE.png, a sheet of 12 pictures");
    v("camera", camera,
      "of the film: track (follows), free (all that there is), or the name of one in a robot's model");
    v("size", size, "of its pictures, WIDTHxHEIGHT; lower than 200 without texts", unit("pixels"));
    v("fps", fps, "its pictures per second", between(1, 100));
    v("video_seconds", video_seconds, "how long it is", unit("s"), between(0.1, 3600));
  }
};

enum class FilmFormat { mp4, gif, png };

struct FilmPlan {
  std::filesystem::path file;
  FilmFormat format = FilmFormat::mp4;
  int width = 640, height = 480;  // of one picture
  int64_t frames = 300;
  double frame_seconds = 1.0 / 30;
};

constexpr int kSheetColumns = 4, kSheetRows = 3;  // of pictures, in a PNG

// Throws UsageError that says what may be given.
FilmPlan film_plan(const FilmOptions& options);

// The step of a task that frame `frame` shows; 0 is the start. A step longer than 1/15 s is shown for 1/15 s: one that
// is no time of a clock (MountainCar's is 1 s) would make the viewer wait.
int64_t step_of_frame(int64_t frame, double frame_seconds, double dt);

}  // namespace drl

// The options of a video.
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

  void describe(OptionVisitor& v) {
    v("video", video,
      "record environment 0 to FILE.mp4 (requires ffmpeg), FILE.gif, or FILE.png (a sheet of 12 pictures)", as_path);
    v("camera", camera,
      "camera of the video: track (follows the robot), free (shows everything), or the name of a camera in the model",
      not_with("video", ""));
    v("size", size, "size of the video, WIDTHxHEIGHT; captions require a height of 200", unit("pixels"),
      not_with("video", ""));
    v("fps", fps, "pictures per second", between(1, 100), not_with("video", ""), not_with("format", "png"));
    v("video_seconds", video_seconds, "length of the video", unit("s"), between(0.1, 3600), not_with("video", ""));
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

constexpr int kSheetColumns = 4, kSheetRows = 3;  // pictures in a PNG

// Throws UsageError, with the allowed values, if an option is invalid.
FilmPlan film_plan(const FilmOptions& options);

constexpr double kLongestStep = 1.0 / 15;  // s that a step is shown

// Returns the step of the task that frame `frame` shows; 0 is the reset. A step longer than 1/15 s is shown for 1/15 s,
// since some tasks have steps that do not represent real time (1 s in MountainCar).
int64_t step_of_frame(int64_t frame, double frame_seconds, double dt);

}  // namespace drl

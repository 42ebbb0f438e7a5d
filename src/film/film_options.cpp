#include "film/film_options.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr int kSmallest = 64, kLargest = 4096;  // pixels

FilmFormat format_of(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".mp4") return FilmFormat::mp4;
  if (ending == ".gif") return FilmFormat::gif;
  if (ending == ".png") return FilmFormat::png;
  throw UsageError("--video " + printable(file.string()) +
                   " has an unknown format (its name must end with .mp4, .gif or .png): use one of these extensions");
}

bool is_side(int pixels) { return pixels >= kSmallest && pixels <= kLargest && pixels % 2 == 0; }

}  // namespace

FilmPlan film_plan(const FilmOptions& options) {
  FilmPlan plan;
  plan.file = options.video;
  plan.format = format_of(plan.file);
  const auto parts = split(options.size, 'x');
  plan.width = number_in<int>(parts[0]).value_or(0);
  plan.height = parts.size() == 2 ? number_in<int>(parts[1]).value_or(0) : 0;
  if (!is_side(plan.width) || !is_side(plan.height))
    throw UsageError("--size " + printable(options.size) +
                     " is not a valid size (it is WIDTHxHEIGHT, with even numbers from " + std::to_string(kSmallest) +
                     " to " + std::to_string(kLargest) + "): use for example --size 640x480");
  constexpr int kMaxGifFps = 50;  // a GIF counts in 1/100 s, and browsers show each picture for at least 2/100 s
  if (plan.format == FilmFormat::gif && options.fps > kMaxGifFps)
    throw UsageError("--fps " + std::to_string(options.fps) + " is too fast for a GIF (at most " +
                     std::to_string(kMaxGifFps) + "): use a lower value, or an .mp4 file");
  if (plan.format == FilmFormat::png) {
    plan.frames = kSheetColumns * kSheetRows;
    plan.frame_seconds = options.video_seconds / static_cast<double>(plan.frames);
  } else {
    plan.frames = std::max<int64_t>(std::llround(options.video_seconds * options.fps), 1);
    plan.frame_seconds = 1.0 / options.fps;
  }
  return plan;
}

int64_t step_of_frame(int64_t frame, double frame_seconds, double dt) {
  constexpr double kRounding = 1e-9;
  return static_cast<int64_t>(static_cast<double>(frame) * frame_seconds / std::min(dt, kLongestStep) + kRounding);
}

}  // namespace drl

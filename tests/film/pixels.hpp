// Finds colours in a picture.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../support/paths.hpp"
#include "base/check.hpp"
#include "film/film.hpp"

namespace drl::test {

inline const std::filesystem::path kFilmLibrary = built("lib/drl/drl_film.so");

// A renderer for this machine. `trouble` is "" or the reason why there is none.
struct Studio {
  explicit Studio(int width = 320, int height = 240, const char* camera = "track") : width(width), height(height) {
    try {
      renderer = std::make_unique<FilmRenderer>(library, FilmSettings{width, height, 1, camera});
    } catch (const UsageError& error) {
      trouble = error.what();
    }
  }
  int width, height;
  FilmLibrary library{kFilmLibrary};
  std::unique_ptr<FilmRenderer> renderer;
  std::string trouble;
};

// The number of pixels of a colour, and their mean position in pixels from the upper left corner.
struct Spot {
  int64_t pixels = 0;
  double x = 0, y = 0;
};

inline bool is_blue(const uint8_t* p) { return p[2] > p[0] + 60 && p[2] > p[1] + 25; }
inline bool is_orange(const uint8_t* p) { return p[0] > p[2] + 80 && p[0] > p[1] + 30 && p[1] > p[2] + 20; }
inline bool is_red(const uint8_t* p) { return p[0] > p[1] + 60 && p[0] > p[2] + 60 && p[1] < p[2] + 20; }
inline bool is_green(const uint8_t* p) { return p[1] > p[0] + 40 && p[1] > p[2] + 15; }

// Returns the spot of the pixels for which is() returns true.
inline Spot find(const std::vector<uint8_t>& rgb, int width, int height, bool (*is)(const uint8_t*)) {
  Spot spot;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (is(rgb.data() + 3 * (static_cast<size_t>(y) * width + x))) spot.x += x, spot.y += y, ++spot.pixels;
  if (spot.pixels > 0) spot.x /= static_cast<double>(spot.pixels), spot.y /= static_cast<double>(spot.pixels);
  return spot;
}

}  // namespace drl::test

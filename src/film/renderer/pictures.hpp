// Writes pictures to PNG and GIF files.
#pragma once

#include <cstdint>
#include <vector>

struct GifFileType;

namespace drl::film {

// Writes rgb [height, width, 3]. Throws std::runtime_error if that fails.
void write_png(const char* file, int width, int height, const uint8_t* rgb);

// A GIF that repeats forever. All frames use the same 252 colours, and dither with a fixed pattern, so that unchanged
// pixels need no space.
class Gif {
 public:
  // All functions throw std::runtime_error if they fail.
  Gif(const char* file, int width, int height);
  ~Gif();
  Gif(const Gif&) = delete;
  Gif& operator=(const Gif&) = delete;

  void add(const uint8_t* rgb, int hundredths);
  void close();

 private:
  void require(int outcome) const;
  void start_frame(int hundredths);

  int width_, height_;
  GifFileType* gif_ = nullptr;
  std::vector<uint8_t> shown_, row_;  // colour indices: the current picture [height, width]; a row [width]
};

}  // namespace drl::film

// Pictures in files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct GifFileType;

namespace drl::film {

// rgb [height, width, 3]. Throws std::runtime_error.
void write_png(const char* file, int width, int height, const uint8_t* rgb);

// Frames that follow each other for ever. All have the same 252 colours, in a fixed pattern where a colour lies between
// them, so that what stands still costs nothing.
class Gif {
 public:
  // Throws std::runtime_error, as all of it does.
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
  std::vector<uint8_t> shown_, row_;  // numbers of colours: [height, width] as they stand in the picture; [width]
};

}  // namespace drl::film

#include "film/renderer/pictures.hpp"

#include <gif_lib.h>
#include <png.h>

#include <stdexcept>
#include <utility>

namespace drl::film {
namespace {

// The levels of red, green and blue, and the index of a transparent colour for unchanged pixels.
constexpr int kRed = 6, kGreen = 7, kBlue = 6;
constexpr uint8_t kUnchanged = kRed * kGreen * kBlue;

// Ordered dithering: thresholds in (0, 1), spread over squares of 4 by 4 pixels (Bayer, 1973).
constexpr int kOrder[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};

int level(uint8_t value, int levels, int x, int y) {
  return (value * (levels - 1) * 16 + (2 * kOrder[y % 4][x % 4] + 1) * 255 / 2) / (255 * 16);
}

uint8_t color_number(const uint8_t* rgb, int x, int y) {
  return static_cast<uint8_t>((level(rgb[0], kRed, x, y) * kGreen + level(rgb[1], kGreen, x, y)) * kBlue +
                              level(rgb[2], kBlue, x, y));
}

ColorMapObject* make_colors() {
  GifColorType colors[256] = {};
  for (int k = 0; k < kUnchanged; ++k)
    colors[k] = {static_cast<GifByteType>(k / (kGreen * kBlue) * 255 / (kRed - 1)),
                 static_cast<GifByteType>(k / kBlue % kGreen * 255 / (kGreen - 1)),
                 static_cast<GifByteType>(k % kBlue * 255 / (kBlue - 1))};
  return GifMakeMapObject(256, colors);
}

}  // namespace

void write_png(const char* file, int width, int height, const uint8_t* rgb) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width), image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&image, file, 0, rgb, 0, nullptr)) throw std::runtime_error(image.message);
}

Gif::Gif(const char* file, int width, int height) : width_(width), height_(height), row_(static_cast<size_t>(width)) {
  int error = 0;
  gif_ = EGifOpenFileName(file, false, &error);
  if (!gif_) throw std::runtime_error(GifErrorString(error));
  EGifSetGifVersion(gif_, true);
  ColorMapObject* colors = make_colors();
  const int begun = EGifPutScreenDesc(gif_, width, height, 8, 0, colors);
  GifFreeMapObject(colors);
  require(begun);
  // The extension that makes the GIF repeat forever.
  require(EGifPutExtensionLeader(gif_, APPLICATION_EXT_FUNC_CODE));
  require(EGifPutExtensionBlock(gif_, 11, "NETSCAPE2.0"));
  require(EGifPutExtensionBlock(gif_, 3, "\1\0\0"));
  require(EGifPutExtensionTrailer(gif_));
}

Gif::~Gif() {
  int ignored = 0;
  if (gif_) EGifCloseFile(gif_, &ignored);
}

void Gif::require(int outcome) const {
  if (outcome == GIF_OK) return;
  const char* why = GifErrorString(gif_->Error);
  throw std::runtime_error(why ? why : "it cannot be written");
}

void Gif::start_frame(int hundredths) {
  GraphicsControlBlock control{DISPOSE_DO_NOT, false, hundredths, shown_.empty() ? NO_TRANSPARENT_COLOR : kUnchanged};
  GifByteType block[4];
  EGifGCBToExtension(&control, block);
  require(EGifPutExtension(gif_, GRAPHICS_EXT_FUNC_CODE, sizeof(block), block));
  require(EGifPutImageDesc(gif_, 0, 0, width_, height_, false, nullptr));
}

void Gif::add(const uint8_t* rgb, int hundredths) {
  start_frame(hundredths);
  const bool first = shown_.empty();
  if (first) shown_.resize(static_cast<size_t>(width_) * height_);
  uint8_t* shown = shown_.data();
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x, ++shown, rgb += 3) {
      const uint8_t color = color_number(rgb, x, y);
      row_[x] = first || color != *shown ? color : kUnchanged;
      *shown = color;
    }
    require(EGifPutLine(gif_, row_.data(), width_));
  }
}

void Gif::close() {
  int error = 0;
  if (EGifCloseFile(std::exchange(gif_, nullptr), &error) != GIF_OK) throw std::runtime_error(GifErrorString(error));
}

}  // namespace drl::film

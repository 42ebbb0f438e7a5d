// Writes pictures to a video file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "film/film_library.hpp"
#include "film/film_options.hpp"

namespace drl {

// The file appears, complete, when finish() returns, and not before.
class FilmWriter {
 public:
  virtual ~FilmWriter() = default;
  // Adds a picture rgb [height, width, 3]. Throws Error if it cannot be written.
  virtual void add(const std::vector<uint8_t>& rgb) = 0;
  virtual void finish() = 0;
};

// Throws UsageError if the file's directory is not writable, or if ffmpeg is missing for an mp4. `library` must outlive
// the writer.
std::unique_ptr<FilmWriter> make_film_writer(const FilmPlan& plan, const FilmLibrary& library, int threads);

}  // namespace drl

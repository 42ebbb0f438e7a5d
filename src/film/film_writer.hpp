// Pictures become a file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "film/film_library.hpp"
#include "film/film_options.hpp"

namespace drl {

// The file is there, whole, after finish(), and not before.
class FilmWriter {
 public:
  virtual ~FilmWriter() = default;
  // rgb [height, width, 3]. Throws Error if it cannot be written.
  virtual void add(const std::vector<uint8_t>& rgb) = 0;
  virtual void finish() = 0;
};

// Throws UsageError if the file's folder cannot be written, or there is no ffmpeg for an mp4. `library` must outlive
// it.
std::unique_ptr<FilmWriter> make_film_writer(const FilmPlan& plan, const FilmLibrary& library, int threads);

}  // namespace drl

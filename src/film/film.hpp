// Records a video of an environment, picture by picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "drl/canvas.hpp"
#include "film/film_library.hpp"
#include "film/film_options.hpp"
#include "film/film_writer.hpp"

namespace drl {

// Stores what a task draws.
class Picture {
 public:
  Picture();
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  // Returns the canvas for VecEnv::draw().
  const CanvasCalls& canvas() const { return calls_; }
  // Adds a line of text in a corner, below the lines written before.
  void write(const std::string& name, const std::string& value);
  // Returns a view that is valid until this picture or `title` changes.
  FilmView view(const std::string& title) const;

 private:
  CanvasCalls calls_;
  Point at_{0, 0, 0};
  float width_ = 0;
  std::vector<Shape> shapes_;
  std::string model_, names_, values_;
  std::vector<double> qpos_;
  std::vector<FieldHeights> heights_;
};

class Film {
 public:
  // Opens the output and the renderer. Throws UsageError if the options are invalid, or if the file cannot be written,
  // or if ffmpeg, the library `library_file` or OpenGL are missing. `dt` is in seconds per step of the task.
  Film(const FilmOptions& options, const std::string& title, double dt, int threads,
       const std::filesystem::path& library_file = film_library_file());

  // Returns whether the video shows this step. Call it for each step in turn, from 0.
  bool wants(int64_t step) const;
  // Adds the picture of that step.
  void show(const Picture& picture);
  bool complete() const { return frame_ == plan_.frames; }
  int64_t frames() const { return frame_; }  // that the video has so far
  // Writes the file.
  void finish() { writer_->finish(); }
  const FilmPlan& plan() const { return plan_; }

 private:
  int64_t step_of_next() const { return step_of_frame(frame_, plan_.frame_seconds, dt_); }

  FilmPlan plan_;
  std::string title_;
  double dt_;
  FilmLibrary library_;
  std::unique_ptr<FilmWriter> writer_;
  FilmRenderer renderer_;
  std::vector<uint8_t> rgb_;
  int64_t frame_ = 0;
};

}  // namespace drl

// A film of an environment, picture by picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drl/canvas.hpp"
#include "film/film_library.hpp"
#include "film/film_options.hpp"
#include "film/film_writer.hpp"

namespace drl {

// What a task draws, kept.
class Picture {
 public:
  Picture();
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  // For VecEnv::draw.
  const CanvasCalls& canvas() const { return calls_; }
  // A line in a corner; those of the task come below what is written before it draws.
  void write(const std::string& name, const std::string& value);
  // Holds as long as this and `title` do not change.
  FilmView view(const std::string& title) const;

 private:
  CanvasCalls calls_;
  Point at_{0, 0, 0};
  float width_ = 0;
  std::vector<Shape> shapes_;
  std::string model_, names_, values_;
  std::vector<double> qpos_;
};

class Film {
 public:
  // Opens all that it needs: throws UsageError, before anything is played, if the options, the file, ffmpeg, the
  // library in `library_file` or OpenGL are not as they should be. `dt`: of a step of the task, s.
  Film(const FilmOptions& options, const std::string& title, double dt, int threads,
       const std::filesystem::path& library_file = film_library_file());

  // Whether a picture of this step is wanted; of each step in turn, from 0.
  bool wants(int64_t step) const;
  // That picture.
  void show(const Picture& picture);
  bool complete() const { return frame_ == plan_.frames; }
  // The file is there afterwards.
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

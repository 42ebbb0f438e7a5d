#include "film/film.hpp"

#include <iterator>

namespace drl {

Picture::Picture() {
  const auto look = [](void* self, Point at, float width) {
    static_cast<Picture*>(self)->at_ = at;
    static_cast<Picture*>(self)->width_ = width;
  };
  const auto add = [](void* self, const Shape* shape) { static_cast<Picture*>(self)->shapes_.push_back(*shape); };
  const auto model = [](void* self, const char* file, const double* qpos, int64_t size) {
    static_cast<Picture*>(self)->model_ = file;
    static_cast<Picture*>(self)->qpos_.assign(qpos, qpos + size);
  };
  const auto text = [](void* self, const char* name, const char* value) {
    static_cast<Picture*>(self)->write(name, value);
  };
  const auto heights = [](void* self, const FieldHeights* of_field) {
    static_cast<Picture*>(self)->heights_.push_back(*of_field);
  };
  calls_ = {this, look, add, model, text, heights};
}

void Picture::write(const std::string& name, const std::string& value) {
  names_ += (names_.empty() ? "" : "\n") + name;
  values_ += (values_.empty() ? "" : "\n") + value;
}

FilmView Picture::view(const std::string& title) const {
  return {.at = at_,
          .width = width_,
          .shapes = shapes_.data(),
          .shape_count = std::ssize(shapes_),
          .model = model_.empty() ? nullptr : model_.c_str(),
          .qpos = qpos_.data(),
          .qpos_size = std::ssize(qpos_),
          .heights = heights_.data(),
          .heights_size = std::ssize(heights_),
          .title = title.c_str(),
          .names = names_.c_str(),
          .values = values_.c_str()};
}

Film::Film(const FilmOptions& options, const std::string& title, double dt, int threads,
           const std::filesystem::path& library_file)
    : plan_(film_plan(options)),
      title_(title),
      dt_(dt),
      library_(library_file),
      writer_(make_film_writer(plan_, library_, threads)),
      renderer_(library_, {plan_.width, plan_.height, threads, options.camera.c_str()}) {}

bool Film::wants(int64_t step) const { return !complete() && step_of_next() == step; }

void Film::show(const Picture& picture) {
  renderer_.draw(picture.view(title_), rgb_);
  for (const int64_t step = step_of_next(); !complete() && step_of_next() == step; ++frame_) writer_->add(rgb_);
}

}  // namespace drl

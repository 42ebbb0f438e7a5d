// drl_film.so, as the programs see it: errors are exceptions, and what is open is closed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "film/film_plugin.hpp"

namespace drl {

// lib/drl/drl_film.so of this installation.
std::filesystem::path film_library_file();

// All throw UsageError where the user can do something about it, else Error.
class FilmLibrary {
 public:
  // Stays in the process. Throws UsageError that says how to get it if it is not there or does not fit.
  explicit FilmLibrary(const std::filesystem::path& file);
  const FilmPlugin& functions() const { return *functions_; }
  // Of an outcome of its functions: nothing, or an exception.
  static void require(int32_t outcome, const char* error, const std::string& what);

 private:
  const FilmPlugin* functions_;
};

// For one thread.
class FilmRenderer {
 public:
  // `library` must outlive it.
  FilmRenderer(const FilmLibrary& library, const FilmSettings& settings);
  // rgb [height, width, 3], the highest row first.
  void draw(const FilmView& view, std::vector<uint8_t>& rgb);

 private:
  const FilmPlugin& functions_;
  size_t bytes_;
  std::unique_ptr<void, void (*)(void*)> renderer_;
};

}  // namespace drl

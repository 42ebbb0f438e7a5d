#include "film/film_library.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 1024;

[[noreturn]] void refuse(const std::string& why, const std::string& what) {
  throw UsageError("environments cannot be drawn (" + why + "): " + what);
}

}  // namespace

fs::path film_library_file() { return installation() / "lib/drl/drl_film.so"; }

FilmLibrary::FilmLibrary(const fs::path& file) {
  const std::string name = printable(file.string(), 200);
  if (std::error_code ignored; !fs::exists(file, ignored))
    refuse(name + " does not exist, since drl was built without MuJoCo, libpng or giflib",
           "in drl's source directory, run tools/setup and tools/fetch_mujoco, and rebuild drl");
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    refuse(dlerror(), "rebuild and install drl, or add the directory of the missing library to LD_LIBRARY_PATH");
  const auto table = reinterpret_cast<DrlFilmPluginFunction>(dlsym(library, DRL_FILM_PLUGIN_SYMBOL));
  functions_ = table ? table() : nullptr;
  constexpr int32_t kSizes[] = {sizeof(FilmPlugin), sizeof(FilmSettings), sizeof(FilmView)};
  if (!functions_ || functions_->magic != kFilmMagic || functions_->abi != kFilmAbi ||
      !std::ranges::equal(functions_->sizes, kSizes))
    refuse(name + " belongs to another drl", "rebuild and install drl");
}

void FilmLibrary::require(int32_t outcome, const char* error, const std::string& what) {
  if (outcome == kFilmed) return;
  if (outcome == kUserError) throw UsageError(error);
  throw Error(what + " failed (" + error + "): this text is the library's");
}

FilmRenderer::FilmRenderer(const FilmLibrary& library, const FilmSettings& settings)
    : functions_(library.functions()),
      bytes_(static_cast<size_t>(settings.width) * static_cast<size_t>(settings.height) * 3),
      renderer_(nullptr, functions_.close) {
  char error[kErrorSize] = "";
  void* made = nullptr;
  FilmLibrary::require(functions_.open(&settings, &made, error, kErrorSize), error, "drawing");
  renderer_.reset(made);
}

FilmScene::FilmScene(const FilmLibrary& library)
    : functions_(library.functions()), scene_(nullptr, functions_.close_scene) {
  char error[kErrorSize] = "";
  void* made = nullptr;
  FilmLibrary::require(functions_.open_scene(&made, error, kErrorSize), error, "drawing");
  scene_.reset(made);
}

ScenePicture FilmScene::place(const FilmView& view, bool shows_contacts) {
  char error[kErrorSize] = "";
  ScenePicture picture;
  FilmLibrary::require(functions_.place(scene_.get(), &view, shows_contacts, &picture, error, kErrorSize), error,
                       "drawing");
  return picture;
}

SceneMesh FilmScene::mesh(int32_t mesh) {
  char error[kErrorSize] = "";
  SceneMesh triangles;
  FilmLibrary::require(functions_.mesh(scene_.get(), mesh, &triangles, error, kErrorSize), error, "drawing");
  return triangles;
}

void FilmRenderer::draw(const FilmView& view, std::vector<uint8_t>& rgb) {
  char error[kErrorSize] = "";
  rgb.resize(bytes_);
  FilmLibrary::require(functions_.draw(renderer_.get(), &view, rgb.data(), error, kErrorSize), error, "drawing");
}

}  // namespace drl

#include "apps/new_task/model_copy.hpp"

#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "store/file.hpp"

namespace drl {

namespace fs = std::filesystem;

ModelCopy::ModelCopy(const std::string& file, const UrdfAdditions& additions) : file_(file) {
  char text[1000] = "";
  try {
    if (is_urdf(file)) {
      spec_ = read_urdf(file, additions);
    } else {
      load_model(file);
      spec_.reset(mj_parseXML(file.c_str(), nullptr, text, sizeof(text)));
    }
    if (spec_) model_.reset(mj_compile(spec_.get(), nullptr));
    if (!model_) throw std::invalid_argument(file + " cannot be copied (" + text + ")");
    for (const mjtObj kind : {mjOBJ_BODY, mjOBJ_JOINT, mjOBJ_GEOM, mjOBJ_SITE, mjOBJ_ACTUATOR, mjOBJ_SENSOR})
      for (mjsElement* e = mjs_firstElement(spec(), kind); e; e = mjs_nextElement(spec(), e))
        elements_[{kind, mjs_getId(e)}] = e;  // changes of the copy change the numbers
  } catch (const std::exception& error) {
    throw UsageError(printable(error.what(), 1000));
  }
}

mjsElement* ModelCopy::element(mjtObj kind, int index) const {
  const auto found = elements_.find({kind, index});
  if (found == elements_.end()) throw Error("a part of " + printable(file_) + " is not found again");
  return found->second;
}

std::string ModelCopy::name(mjtObj kind, int index) const {
  const char* name = mj_id2name(&model(), kind, index);
  return name ? name : "";
}

std::string ModelCopy::named(mjtObj kind, int index, const std::string& wanted) {
  if (const std::string has = name(kind, index); !has.empty()) return has;
  const std::string found = mjs_getString(mjs_getName(element(kind, index)));
  if (!found.empty()) return found;  // named by an earlier call
  const std::string given = free_name(kind, wanted);
  mjs_setName(element(kind, index), given.c_str());
  return given;
}

std::string ModelCopy::free_name(mjtObj kind, const std::string& wanted) {
  std::string name = wanted;
  for (int k = 2; mj_name2id(&model(), kind, name.c_str()) >= 0 || !given_.emplace(kind, name).second; ++k)
    name = wanted + std::to_string(k);
  return name;
}

std::string ModelCopy::copy_file(const std::string& file, const std::string& directory, const fs::path& assets) {
  const fs::path from = fs::absolute(fs::path(file_).parent_path() / directory / file).lexically_normal();
  std::string name = from.filename().string();
  for (int k = 2; copied_.contains(name) && copied_[name] != from; ++k)
    name = from.stem().string() + std::to_string(k) + from.extension().string();
  if (copied_.emplace(name, from).second) {
    fs::create_directories(assets);
    fs::copy_file(from, assets / name, fs::copy_options::overwrite_existing);
    fs::permissions(assets / name, fs::perms::owner_write, fs::perm_options::add);
  }
  return name;
}

std::string ModelCopy::text() const {
  std::string text(1 << 16, '\0');
  for (;;) {
    char error[1000] = "";
    const int needed = mj_saveXMLString(spec(), text.data(), static_cast<int>(text.size()), error, sizeof(error));
    if (needed == 0) return text.substr(0, text.find('\0'));
    if (needed < 0) throw std::invalid_argument(error);
    text.assign(static_cast<size_t>(needed) + 1, '\0');
  }
}

void ModelCopy::save(const fs::path& folder, const std::string& file, const std::string& comment) {
  try {
    const std::string meshes = mjs_getString(spec_->compiler.meshdir),
                      textures = mjs_getString(spec_->compiler.texturedir);
    mjs_setString(spec_->comment, comment.c_str());
    const std::unique_ptr<mjModel, DeleteModel> compiled(mj_compile(spec(), nullptr));
    if (!compiled) throw std::invalid_argument(mjs_getError(spec()));
    mjs_setString(spec_->compiler.meshdir, "assets"), mjs_setString(spec_->compiler.texturedir, "assets");
    // MuJoCo writes an element per line.
    const std::regex named(R"re((\sfile(?:right|left|up|down|front|back)?=")([^"]+)("))re");
    std::istringstream lines(text());
    std::string written;
    std::smatch found;
    for (std::string line; std::getline(lines, line); written += line + "\n")
      for (size_t at = 0; std::regex_search(line.cbegin() + static_cast<long>(at), line.cend(), found, named);) {
        const bool is_texture = line.find("<texture") != std::string::npos;
        const std::string name = copy_file(found[2], is_texture ? textures : meshes, folder / "assets");
        const size_t begin = at + static_cast<size_t>(found.position(2));
        line.replace(begin, static_cast<size_t>(found.length(2)), name);
        at = begin + name.size();
      }
    write_file_atomically(folder / file, bytes_of(written));
    load_model((folder / file).string());
  } catch (const std::exception& error) {
    throw UsageError(printable(file_) + " cannot be copied (" + printable(error.what(), 1000) +
                     "): correct the model, or give --kind bare, which leaves floor and motors as they are");
  }
}

}  // namespace drl

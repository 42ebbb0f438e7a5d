// Finds MJCF files, loads them with libmujoco, and looks up their parts by name.
#pragma once

#include <dlfcn.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/canvas.hpp"
#include "drl/physics/model_id.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "drl/task/abi.hpp"
#include "drl/task/edit_distance.hpp"
#include "drl/task/robot.hpp"

namespace drl {

struct DeleteModel {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
};

// Returns the directories of DRL_MODELS (separated by colons). Throws std::invalid_argument if one does not exist.
inline std::vector<std::filesystem::path> listed_model_directories() {
  namespace fs = std::filesystem;
  std::vector<fs::path> directories;
  std::error_code ignored;
  if (const char* list = std::getenv("DRL_MODELS")) {
    std::istringstream all(list);
    for (std::string directory; std::getline(all, directory, ':');) {
      if (directory.empty()) continue;
      if (!fs::is_directory(directory, ignored))
        throw std::invalid_argument("DRL_MODELS contains " + directory + ", which is not a directory: correct it");
      directories.emplace_back(directory);
    }
  }
  return directories;
}

// Returns the directories that are searched for model files, in this order: those of DRL_MODELS (separated by colons);
// the directory of the task's header `header` (may be null) and that of the library's CMakeLists.txt, in which the
// library's build found its models; the directory of the shared library that contains the address `here`, and the one
// above; share/drl/models of that library's installation and of the program's installation. Throws
// std::invalid_argument if DRL_MODELS contains a directory that does not exist.
inline std::vector<std::filesystem::path> model_directories(const void* here, const char* header) {
  namespace fs = std::filesystem;
  std::vector<fs::path> directories = listed_model_directories();
  std::error_code ignored;
  if (header) directories.push_back(fs::path(header).parent_path());
#if defined(DRL_MODEL_FOLDER)
  directories.emplace_back(DRL_MODEL_FOLDER);
#endif
  Dl_info library{};
  if (dladdr(here, &library) != 0 && library.dli_fname) {
    const fs::path directory = fs::absolute(library.dli_fname, ignored).parent_path();  // <prefix>/lib/drl/tasks
    directories.push_back(directory);
    directories.push_back(directory.parent_path());  // of a build directory inside the project
    directories.push_back((directory / "../../../share/drl/models").lexically_normal());
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  directories.push_back(program.parent_path().parent_path() / "share/drl/models");
  return directories;
}
// Throws std::invalid_argument if `file` exists but is not a file: libmujoco would wait for a writer to a pipe.
inline void require_regular_file(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    throw std::invalid_argument("the robot's model " + file +
                                " is not a file (it may be a directory, a pipe or a device): give an MJCF file");
}
// Returns whether the file is a compiled model, whatever it is called.
inline bool is_compiled_model(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  int begin = 0;
  constexpr int kCompiled = 54321;  // ID in MuJoCo's engine_io.c
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&begin), sizeof(begin));
  return begin == kCompiled;
}
// Also throws if it is a compiled model.
inline void require_file(const std::string& file) {
  require_regular_file(file);
  if (is_compiled_model(file))
    throw std::invalid_argument("the robot's model " + file +
                                " is a compiled model (.mjb), which drl does not read: give the MJCF file (.xml) that "
                                "it was compiled from");
}

// Throws std::invalid_argument if the text of a model, apart from its comments, has conversions of printf that read or
// write memory. libmujoco 3.5 takes texts of a wrong file for the formats of its messages.
inline void require_no_formats(const std::string& file, std::string text) {
  for (size_t at = text.find("<!--"), end; at != std::string::npos; at = text.find("<!--", at)) {
    if ((end = text.find("-->", at)) == std::string::npos) break;
    text.erase(at, end + 3 - at);
  }
  for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
    const size_t end = text.find_first_not_of("0123456789.*+-#'hlzjtL", at + 1);
    if (end == std::string::npos || (text[end] != 'n' && text[end] != 's')) continue;
    throw std::invalid_argument("the robot's model " + file + " has the text " + text.substr(at, end + 1 - at) +
                                ", which libmujoco's messages take for a format: remove it");
  }
}

// Makes libmujoco throw its errors as exceptions instead of ending the process, and stops it from writing warnings to
// MUJOCO_LOG.TXT; mjData still counts them. Handlers that were set before are kept.
inline void install_mujoco_handlers() {
  if (!mju_user_error)
    mju_user_error = [](const char* text) { throw std::runtime_error(std::string("MuJoCo: ") + text); };
  if (!mju_user_warning) mju_user_warning = [](const char*) {};
}

// Returns the text of a version number of MuJoCo: "3.5.0" for 3005000.
inline std::string version_text(int version) {
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

// Throws std::invalid_argument if libmujoco's version differs from the one that this library was built with.
inline void require_mujoco_version(int version = mj_version()) {
  if (version != mjVERSION_HEADER)
    throw std::invalid_argument("libmujoco has version " + version_text(version) + " (this library was built with " +
                                version_text(mjVERSION_HEADER) + "): set LD_LIBRARY_PATH so that version " +
                                version_text(mjVERSION_HEADER) + " is loaded");
}

// Returns whether the flag multiccd may change a contact: it gives cylinders and meshes several contacts with capsules,
// cylinders, boxes and meshes. (Capsules and boxes among themselves have closed forms.)
inline bool uses_multiccd(const mjModel& m) {
  const auto is_any = [&](int g, auto... types) { return ((m.geom_type[g] == types) || ...); };
  const auto changes = [&](int a, int b) {
    for (const int g : {a, b})
      if (!is_any(g, mjGEOM_CAPSULE, mjGEOM_CYLINDER, mjGEOM_BOX, mjGEOM_MESH)) return false;
    return is_any(a, mjGEOM_CYLINDER, mjGEOM_MESH) || is_any(b, mjGEOM_CYLINDER, mjGEOM_MESH);
  };
  for (int a = 0; mujoco::has_multiccd(m) && a < m.ngeom; ++a)
    for (int b = 0; b < a; ++b)
      if (((m.geom_contype[a] & m.geom_conaffinity[b]) || (m.geom_contype[b] & m.geom_conaffinity[a])) &&
          m.body_weldid[m.geom_bodyid[a]] != m.body_weldid[m.geom_bodyid[b]] && changes(a, b))
        return true;
  for (int p = 0; mujoco::has_multiccd(m) && p < m.npair; ++p)
    if (changes(m.pair_geom1[p], m.pair_geom2[p])) return true;
  return false;
}

struct DeleteSpec {
  void operator()(mjSpec* spec) const { mj_deleteSpec(spec); }
};
// Gives a height field other heights, which are from 0 (at least one, if they differ) to 1. Does nothing if the model
// has no such field.
inline void set_heights(mjSpec* spec, const FieldHeights& to) {
  mjsElement* element = mjs_firstElement(spec, mjOBJ_HFIELD);
  for (int k = 0; element && k < to.field; ++k) element = mjs_nextElement(spec, element);
  if (!element) return;
  mjsHField* field = mjs_asHField(element);
  field->nrow = to.rows, field->ncol = to.columns;
  std::copy_n(to.size, 4, field->size);
  mjs_setFloat(field->userdata, to.heights, to.rows * to.columns);
}

// Returns the files of meshes, height fields and textures that do not exist, as the model names them.
inline std::string missing_files(mjSpec* spec) {
  namespace fs = std::filesystem;
  const fs::path beside = mjs_getString(spec->modelfiledir);
  std::vector<std::string> missing;
  const auto look = [&](mjtObj type, const mjString* directory, const auto& file_of) {
    for (mjsElement* element = mjs_firstElement(spec, type); element; element = mjs_nextElement(spec, element)) {
      const fs::path name = mjs_getString(file_of(element));
      const fs::path file = mjs_getString(directory) / (spec->strippath ? name.filename() : name);
      std::error_code ignored;
      if (!name.empty() && !fs::exists(beside / file, ignored)) missing.push_back(file.string());
    }
  };
  look(mjOBJ_MESH, spec->compiler.meshdir, [](mjsElement* element) { return mjs_asMesh(element)->file; });
  look(mjOBJ_HFIELD, spec->compiler.meshdir, [](mjsElement* element) { return mjs_asHField(element)->file; });
  look(mjOBJ_TEXTURE, spec->compiler.texturedir, [](mjsElement* element) { return mjs_asTexture(element)->file; });
  std::string list;
  for (const std::string& file : missing) list += (list.empty() ? "" : ", ") + file;
  return list;
}

// Throws std::invalid_argument if geoms of an explicit <pair> touch each other although neither can move: libmujoco
// would end with an error in each step.
inline void require_moving_pairs(const mjModel& model, const std::string& file) {
  const auto stands = [&](int geom) { return model.body_treeid[model.geom_bodyid[geom]] < 0; };
  int still = 0;
  for (int p = 0; p < model.npair; ++p) still += stands(model.pair_geom1[p]) && stands(model.pair_geom2[p]) ? 1 : 0;
  if (still == 0 || mj_isSparse(&model)) return;
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(&model), mj_deleteData);
  mj_kinematics(&model, data.get());
  mj_collision(&model, data.get());
  const auto name = [&](int geom) {
    const char* text = mj_id2name(&model, mjOBJ_GEOM, geom);
    return text && *text ? "'" + std::string(text) + "'" : "number " + std::to_string(geom);
  };
  for (int c = 0; c < data->ncon; ++c)
    if (const int* geom = data->contact[c].geom; stands(geom[0]) && stands(geom[1]))
      throw std::invalid_argument("the robot's model " + file + " has a <pair> of geoms " + name(geom[0]) + " and " +
                                  name(geom[1]) +
                                  " (they touch, but neither can move, which libmujoco cannot compute): remove it");
}

// Loads a compiled model (.mjb). Throws std::invalid_argument if another version of MuJoCo wrote it.
inline std::unique_ptr<mjModel, DeleteModel> load_compiled_model(const std::string& file) {
  require_mujoco_version();
  install_mujoco_handlers();
  require_regular_file(file);
  std::unique_ptr<mjModel, DeleteModel> model(mj_loadModel(file.c_str(), nullptr));
  if (!model)
    throw std::invalid_argument("MuJoCo " + version_text(mjVERSION_HEADER) + " cannot read the compiled model " + file +
                                " (it is damaged, or another version of MuJoCo wrote it): compile it again");
  require_moving_pairs(*model, file);
  return model;
}

// Loads an MJCF file, with these heights of its height fields instead of the file's, and writes the compiler's warnings
// to `warnings`. Throws std::invalid_argument, with MuJoCo's message, if MuJoCo cannot read it.
inline std::unique_ptr<mjModel, DeleteModel> load_model(const std::string& file,
                                                        const std::vector<FieldHeights>& heights = {},
                                                        std::vector<std::string>* warnings = nullptr) {
  require_mujoco_version();
  install_mujoco_handlers();
  require_file(file);
  std::ifstream stream(file, std::ios::binary);
  require_no_formats(file, {std::istreambuf_iterator<char>(stream), {}});
  char error[512] = "";
  std::string missing;
  std::unique_ptr<mjModel, DeleteModel> model;
  const std::unique_ptr<mjSpec, DeleteSpec> spec(mj_parseXML(file.c_str(), nullptr, error, sizeof(error)));
  if (spec) {
    for (const FieldHeights& field : heights) set_heights(spec.get(), field);
    model.reset(mj_compile(spec.get(), nullptr));
    if (warnings) *warnings = mujoco::warnings_of(spec.get());
    if (!model) {
      std::snprintf(error, sizeof(error), "%s", mjs_getError(spec.get()));
      missing = missing_files(spec.get());
    }
  }
  if (!model) {
    std::string text = error;
    std::replace(text.begin(), text.end(), '\n', ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
    throw std::invalid_argument("MuJoCo cannot read " + file + " (" + text +
                                (says("Error opening file") && !missing.empty() ? "): add the missing files " + missing
                                 : says("Error opening file")                   ? "): add the missing file"
                                 : says("plugin ") && says(" not found")
                                     ? "): remove the plugin, because drl loads none"
                                     : "): correct the file"));
  }
  require_moving_pairs(*model, file);
  return model;
}

// Returns the file's name and a hash of the compiled model, which covers included files and meshes. The result is the
// same for bit-identical models in different directories.
inline std::string model_id(const mjModel& original, const std::string& file) {
  mjModel model = original;  // without the paths of assets, which are absolute with MuJoCo 4.0
  std::vector<int> none;
  if (model.npaths > 1) {
    none.assign(static_cast<size_t>(std::max({model.nmesh, model.nhfield, model.ntex, model.nskin})), -1);
    model.mesh_pathadr = model.hfield_pathadr = model.tex_pathadr = model.skin_pathadr = none.data();
    model.npaths = 0, model.nbuffer = 0;
  }
  const auto size = mj_sizeModel(&model);
  if (size > std::numeric_limits<int>::max())  // of mj_saveModel
    throw std::invalid_argument(file + " takes " + std::to_string(size >> 20) +
                                " MiB in memory (a model may take 2047): make its textures and height fields smaller");
  std::vector<unsigned char> bytes(static_cast<size_t>(size));
  mj_saveModel(&model, nullptr, bytes.data(), static_cast<int>(bytes.size()));
  uint64_t hash = text_hash("");
  for (const unsigned char byte : bytes) hash = hash_with(hash, byte);
  char text[17];
  std::snprintf(text, sizeof(text), "%012llx", static_cast<unsigned long long>(hash & 0xffffffffffffull));
  return std::filesystem::path(file).filename().string() + " (" + text + ")";
}

// Returns whether a directory of DRL_MODELS has a file of this name.
inline bool is_in_listed_directory(const std::string& name) {
  std::error_code ignored;
  const auto has = [&](const std::filesystem::path& directory) {
    return std::filesystem::is_regular_file(directory / name, ignored);
  };
  const std::vector<std::filesystem::path> all = listed_model_directories();
  return std::any_of(all.begin(), all.end(), has);
}

// Returns whether the file can be loaded and is the model with this id (see model_id).
inline bool has_model_id(const std::string& file, const char* id) {
  try {
    return is_same_model(model_id(*load_model(file), file), id);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// Says where to look for a task's model: in the directories of the library that has the address `here`, and of the
// task's header. `id` is that of the compiled model. Header and id may be null.
struct ModelOrigin {
  const void* here = nullptr;
  const char *header = nullptr, *id = nullptr;
};

// Returns the path of the model file `name`. If several directories besides those of DRL_MODELS have such a file, the
// one with the given id is taken, otherwise the first. Throws std::invalid_argument, with the directories that were
// searched, if it is in none of them.
inline std::string find_model(const std::string& name, const ModelOrigin& origin) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::path(name).is_absolute()) {
    if (!fs::exists(name, ignored))
      throw std::invalid_argument("the robot's model " + name + " does not exist: correct its path");
    return require_file(name), name;
  }
  const bool is_listed = is_in_listed_directory(name);
  std::vector<fs::path> searched;
  std::vector<std::string> found;
  std::string list;
  for (const fs::path& directory : model_directories(origin.here, origin.header)) {
    const std::string file = (directory / name).string();
    if (fs::is_regular_file(file, ignored)) {
      if (is_listed) return file;
      const auto is_it = [&](const std::string& other) { return fs::equivalent(file, other, ignored); };
      if (std::none_of(found.begin(), found.end(), is_it)) found.push_back(file);
    }
    if (std::find(searched.begin(), searched.end(), directory) != searched.end()) continue;
    list += (searched.empty() ? "" : ", ") + directory.string();
    searched.push_back(directory);
  }
  if (found.empty())
    throw std::invalid_argument("the robot's model " + name + " was not found (searched " + list +
                                "): correct its path, or add its directory to DRL_MODELS");
  if (found.size() > 1 && origin.id)
    for (const std::string& file : found)
      if (has_model_id(file, origin.id)) return file;
  return found.front();
}

// Returns the path of a task's model file. Throws std::invalid_argument if that file, or the downloaded file that it
// includes, does not exist.
inline std::string find_model(const RobotModel& model, const ModelOrigin& origin) {
  const std::string file = find_model(std::string(model.file), origin);
  std::error_code ignored;
  if (model.fetched && !std::filesystem::exists(std::filesystem::path(file).parent_path() / model.fetched, ignored))
    throw std::invalid_argument("the robot's file " + std::string(model.fetched) +
                                " does not exist (it must be next to " + file + "): run " + model.fetched_by);
  return file;
}
template <class Model>
std::string find_model(const Model& model, const void* here) {
  return find_model(model, ModelOrigin{.here = here});
}

// Returns whether the body's centre of mass can be shifted on its own. MuJoCo computes coinciding frames only once: if
// the inertial frame coincides with the frame of the body, a geom or a site, that frame would move with it.
inline bool has_own_center(const mjModel& model, int body) {
  if (model.body_sameframe[body] == mjSAMEFRAME_BODY) return false;
  for (int g = 0; g < model.ngeom; ++g)
    if (model.geom_bodyid[g] == body && model.geom_sameframe[g] == mjSAMEFRAME_INERTIA) return false;
  for (int s = 0; s < model.nsite; ++s)
    if (model.site_bodyid[s] == body && model.site_sameframe[s] == mjSAMEFRAME_INERTIA) return false;
  return true;
}
inline constexpr const char* kNoOwnCenter =
    "its centre of mass varies, but coincides with the frame of the body, a geom or a site: give the body an "
    "<inertial>";

// Returns the most similar name among the model's `count` elements of a type, or "" if none has a name.
template <class Count>
std::string nearest_name(const mjModel& model, mjtObj type, const std::string& name, Count count) {
  std::string nearest;
  for (int k = 0; k < count; ++k)
    if (const char* other = mj_id2name(&model, type, k); other && *other)
      if (nearest.empty() || edit_distance(name, other) < edit_distance(name, nearest)) nearest = other;
  return nearest;
}

// Returns the index of a keyframe. Throws std::invalid_argument, with the most similar name, if the model has none of
// this name.
inline int find_keyframe(const mjModel& model, const char* name) {
  const int found = mj_name2id(&model, mjOBJ_KEY, name);
  if (found >= 0) return found;
  const std::string nearest = nearest_name(model, mjOBJ_KEY, name, model.nkey);
  throw std::invalid_argument(std::string("the robot's model has no keyframe '") + name + "'" +
                              (nearest.empty() ? " (it has no named keyframe): add <key name=...> to its <keyframe>"
                                               : ": did you mean '" + nearest + "'?"));
}

// Finds a model's parts by name, for Parts::find. Throws std::invalid_argument, with the most similar name, if the
// model has no such part.
class PartFinder {
 public:
  PartFinder(const mjModel& model, const std::string& file) : model_(model), file_(file) {}

  void operator()(BodyId& id, const char* name) const { id.index = find(mjOBJ_BODY, "body", name, model_.nbody); }
  void operator()(GeomId& id, const char* name) const { id.index = find(mjOBJ_GEOM, "geom", name, model_.ngeom); }
  void operator()(SiteId& id, const char* name) const { id.index = find(mjOBJ_SITE, "site", name, model_.nsite); }
  void operator()(ActuatorId& id, const char* name) const {
    id.index = find(mjOBJ_ACTUATOR, "actuator", name, model_.nu);
  }
  void operator()(JointId& id, const char* name) const {
    const int joint = find(mjOBJ_JOINT, "joint", name, model_.njnt);
    id = {model_.jnt_qposadr[joint], model_.jnt_dofadr[joint]};
  }
  void operator()(SensorId& id, const char* name) const {
    const int sensor = find(mjOBJ_SENSOR, "sensor", name, model_.nsensor);
    id = {model_.sensor_adr[sensor], model_.sensor_dim[sensor]};
  }

 private:
  template <class Count>
  int find(mjtObj type, const std::string& what, const std::string& name, Count count) const {
    const int found = mj_name2id(&model_, type, name.c_str());
    if (found >= 0) return found;
    const std::string nearest = nearest_name(model_, type, name, count);
    throw std::invalid_argument(
        file_ + " has no " + what + " '" + name + "'" +
        (nearest.empty() ? " (it has no named " + what + "): add that name" : ": did you mean '" + nearest + "'?"));
  }

  const mjModel& model_;
  std::string file_;
};

}  // namespace drl

// MJCF files: where they are, how libmujoco reads them, and their parts by name.
#pragma once

#include <dlfcn.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/robot.hpp"
#include "drl/task_abi.hpp"

namespace drl {

struct DeleteModel {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
};

// Where a model's file is looked for: folders of DRL_MODELS (with colons between), the folder of the library in which
// `here` lies, share/drl/models of its installation and of the program's, and the folder of the library's sources.
// Throws std::invalid_argument if DRL_MODELS names a folder that is not there.
inline std::vector<std::filesystem::path> model_folders(const void* here) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  std::error_code ignored;
  if (const char* list = std::getenv("DRL_MODELS")) {
    std::istringstream all(list);
    for (std::string folder; std::getline(all, folder, ':');) {
      if (folder.empty()) continue;
      if (!fs::is_directory(folder, ignored))
        throw std::invalid_argument("DRL_MODELS names " + folder + ", which is no folder: correct it");
      folders.emplace_back(folder);
    }
  }
  Dl_info library{};
  if (dladdr(here, &library) != 0 && library.dli_fname) {
    const fs::path folder = fs::absolute(library.dli_fname, ignored).parent_path();  // <prefix>/lib/drl/tasks
    folders.push_back(folder);
    folders.push_back((folder / "../../../share/drl/models").lexically_normal());
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  folders.push_back(program.parent_path().parent_path() / "share/drl/models");
#if defined(DRL_MODEL_FOLDER)
  folders.emplace_back(DRL_MODEL_FOLDER);
#endif
  return folders;
}

// The file that `name` means. Throws std::invalid_argument, with the folders, if it is in none of them.
inline std::string find_model(const std::string& name, const void* here) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto there = [&](const fs::path& file) { return fs::is_regular_file(file, ignored); };
  if (fs::path(name).is_absolute() && there(name)) return name;
  if (fs::path(name).is_absolute())
    throw std::invalid_argument("the robot's model " + name + " is not there: correct its path");
  std::vector<fs::path> searched;
  std::string list;
  for (const fs::path& folder : model_folders(here)) {
    if (there(folder / name)) return (folder / name).string();
    if (std::find(searched.begin(), searched.end(), folder) != searched.end()) continue;
    list += (searched.empty() ? "" : ", ") + folder.string();
    searched.push_back(folder);
  }
  throw std::invalid_argument("the robot's model " + name + " is not there (not in " + list +
                              "): name its folder in DRL_MODELS");
}

// Where a task's model is. Throws std::invalid_argument if it is not there, or what it includes.
inline std::string find_model(const RobotModel& model, const void* here) {
  const std::string file = find_model(std::string(model.file), here);
  std::error_code ignored;
  if (model.fetched && !std::filesystem::exists(std::filesystem::path(file).parent_path() / model.fetched, ignored))
    throw std::invalid_argument("the robot's parts " + std::string(model.fetched) + " are not there (not beside " +
                                file + "): run " + model.fetched_by);
  return file;
}

// What libmujoco says where it would end the process, as an exception; what it would write into MUJOCO_LOG.TXT goes:
// warnings are counted in mjData. Whoever else uses it here keeps what he has set.
inline void take_mujoco_messages() {
  if (!mju_user_error)
    mju_user_error = [](const char* text) { throw std::runtime_error(std::string("MuJoCo: ") + text); };
  if (!mju_user_warning) mju_user_warning = [](const char*) {};
}

// 3005000 is 3.5.0.
inline std::string version_text(int version) {
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

// Throws std::invalid_argument if libmujoco is another one than this library was built with.
inline void require_mujoco_version(int version = mj_version()) {
  if (version != mjVERSION_HEADER)
    throw std::invalid_argument("libmujoco is of version " + version_text(version) + ", and this was built for " +
                                version_text(mjVERSION_HEADER) + ": let that one be found (LD_LIBRARY_PATH)");
}

// Throws std::invalid_argument, with MuJoCo's words, if it cannot be read.
inline std::unique_ptr<mjModel, DeleteModel> load_model(const std::string& file) {
  require_mujoco_version();
  take_mujoco_messages();
  char error[512] = "";
  std::unique_ptr<mjModel, DeleteModel> model(mj_loadXML(file.c_str(), nullptr, error, sizeof(error)));
  if (!model) {
    std::string text = error;
    std::replace(text.begin(), text.end(), '\n', ' ');
    const bool lacks_file = text.find("Error opening file") != std::string::npos;
    throw std::invalid_argument("MuJoCo cannot read " + file + " (" + text +
                                (lacks_file ? "): bring the file that it names" : "): correct the file"));
  }
  return model;
}

// The file's name and a hash of all that libmujoco has made of it, included files and meshes too: the same for models
// that are the same to the bit, wherever they lie.
inline std::string model_id(const mjModel& model, const std::string& file) {
  std::vector<unsigned char> bytes(static_cast<size_t>(mj_sizeModel(&model)));
  mj_saveModel(&model, nullptr, bytes.data(), static_cast<int>(bytes.size()));
  uint64_t hash = text_hash("");
  for (const unsigned char byte : bytes) hash = hash_with(hash, byte);
  char text[17];
  std::snprintf(text, sizeof(text), "%012llx", static_cast<unsigned long long>(hash & 0xffffffffffffull));
  return std::filesystem::path(file).filename().string() + " (" + text + ")";
}

// Whether MuJoCo computes where a body's mass is, and nothing else is there: a shift of it is one of nothing else.
inline bool has_own_center(const mjModel& model, int body) {
  if (model.body_sameframe[body] == mjSAMEFRAME_BODY) return false;
  for (int g = 0; g < model.ngeom; ++g)
    if (model.geom_bodyid[g] == body && model.geom_sameframe[g] == mjSAMEFRAME_INERTIA) return false;
  for (int s = 0; s < model.nsite; ++s)
    if (model.site_bodyid[s] == body && model.site_sameframe[s] == mjSAMEFRAME_INERTIA) return false;
  return true;
}
inline constexpr const char* kNoOwnCenter =
    "its centre of mass varies, and MuJoCo takes it for a geom's or its own place: give it <inertial>";

// How many letters must be changed, added or left out.
inline size_t letters_between(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = corner + (a[i] != b[j]);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

// What Parts::find calls. Throws std::invalid_argument, with the nearest name, if the model has no such part.
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
    std::string nearest;
    for (int k = 0; k < count; ++k)
      if (const char* other = mj_id2name(&model_, type, k); other && *other)
        if (nearest.empty() || letters_between(name, other) < letters_between(name, nearest)) nearest = other;
    throw std::invalid_argument(
        file_ + " has no " + what + " '" + name + "'" +
        (nearest.empty() ? " (none of its kind has a name): give it that name" : ": did you mean '" + nearest + "'?"));
  }

  const mjModel& model_;
  std::string file_;
};

}  // namespace drl

// A copy of a robot's model for a project of its own: one MJCF file, and the files that it names.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "apps/new_task/urdf.hpp"
#include "drl/physics/mujoco_model.hpp"

namespace drl {

class ModelCopy {
 public:
  // Throws UsageError if the file is no model. A URDF file gets the additions.
  explicit ModelCopy(const std::string& file, const UrdfAdditions& additions = {});

  // The model of the file.
  const mjModel& model() const { return *model_; }
  // The copy, to change; changes do not show in model().
  mjSpec* spec() const { return spec_.get(); }
  // Returns the element of the copy with this index in model().
  mjsElement* element(mjtObj kind, int index) const;

  // Returns the name of an element of model(), or "".
  std::string name(mjtObj kind, int index) const;
  // Returns the same name. An element without a name gets `wanted`, or `wanted` with a number behind it.
  std::string named(mjtObj kind, int index, const std::string& wanted);
  // Returns `wanted`, with a number behind it if an element of this kind has that name.
  std::string free_name(mjtObj kind, const std::string& wanted);

  // Writes the copy to folder/file, and the meshes, textures and other files that it names to folder/assets. `comment`
  // becomes the first lines of the file. May be called once. Throws UsageError if MuJoCo cannot compile the copy.
  void save(const std::filesystem::path& folder, const std::string& file, const std::string& comment);

 private:
  std::string text() const;
  // Copies a file that the model names to assets. Returns its name there.
  std::string copy_file(const std::string& file, const std::string& directory, const std::filesystem::path& assets);

  std::string file_;
  std::unique_ptr<mjSpec, DeleteSpec> spec_;
  std::unique_ptr<mjModel, DeleteModel> model_;
  std::map<std::pair<int, int>, mjsElement*> elements_;  // of a kind and with an index in model()
  std::set<std::pair<int, std::string>> given_;          // kinds and names
  std::map<std::string, std::filesystem::path> copied_;  // names in assets
};

}  // namespace drl

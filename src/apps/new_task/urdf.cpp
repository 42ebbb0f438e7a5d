#include "apps/new_task/urdf.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <regex>

#include "base/check.hpp"
#include "base/text.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Returns the file that a mesh's name in a URDF file means. ROS finds package://NAME/PATH in the package NAME, which is
// here a directory above the file, or beside one of these.
fs::path mesh_file(const std::string& name, const fs::path& folder) {
  constexpr std::string_view kPackage = "package://", kFile = "file://";
  if (name.starts_with(kFile)) return name.substr(kFile.size());
  if (!name.starts_with(kPackage)) return fs::absolute(folder / name).lexically_normal();
  const std::string path = name.substr(kPackage.size());
  const std::string package = path.substr(0, path.find('/')),
                    inside = path.substr(std::min(path.size(), package.size() + 1));
  for (fs::path above = fs::absolute(folder).lexically_normal();; above = above.parent_path()) {
    const fs::path place = above.filename() == package ? above : above / package;
    if (std::error_code ignored; fs::exists(place / inside, ignored)) return place / inside;
    if (above == above.parent_path()) return folder / inside;
  }
}

// The text of a URDF file in which meshes have names without directories, and the files that these names mean.
struct UrdfText {
  std::string text;
  std::map<std::string, fs::path> meshes;
};
UrdfText read_text(const std::string& file) {
  const std::vector<std::byte> bytes = read_file(file);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.find("<robot") == std::string::npos)
    throw UsageError(printable(file) + " is no URDF file (it has no <robot>): give one");
  if (text.find("<xacro:") != std::string::npos)
    throw UsageError(printable(file) + " needs xacro (it has its macros): write its result with xacro " +
                     printable(file) + " >robot.urdf");
  try {
    require_no_formats(file, text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(printable(error.what(), 600));
  }
  UrdfText urdf;
  std::map<fs::path, std::string> names;
  const std::regex mesh(R"re((<mesh\b[^>]*?\bfilename\s*=\s*["'])([^"']+))re");
  size_t at = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), mesh), end; found != end; ++found) {
    const fs::path from = mesh_file(found->str(2), fs::path(file).parent_path());
    if (!names.contains(from)) {
      std::string name = from.filename().string();
      for (int k = 2; urdf.meshes.contains(name); ++k)
        name = from.stem().string() + "_" + std::to_string(k) + from.extension().string();
      urdf.meshes[name] = from, names[from] = name;
    }
    const auto place = static_cast<size_t>(found->position(2));
    urdf.text += text.substr(at, place - at) + names[from];
    at = place + static_cast<size_t>(found->length(2));
  }
  urdf.text += text.substr(at);
  return urdf;
}

// Gives the meshes of a model (those of URDF's visuals are not among them) their files.
void find_meshes(mjSpec* spec, const UrdfText& urdf, const std::string& file) {
  spec->strippath = 0;
  std::string missing;
  for (mjsElement* e = mjs_firstElement(spec, mjOBJ_MESH); e; e = mjs_nextElement(spec, e)) {
    mjsMesh* mesh = mjs_asMesh(e);
    const auto found = urdf.meshes.find(mjs_getString(mesh->file));
    const fs::path from = found == urdf.meshes.end() ? mjs_getString(mesh->file) : found->second;
    if (std::error_code ignored; !fs::exists(from, ignored)) missing += (missing.empty() ? "" : ", ") + from.string();
    mjs_setString(mesh->file, from.c_str());
  }
  if (!missing.empty())
    throw UsageError(printable(file) + " names meshes that are not there (" + printable(missing, 600) +
                     "): put them where it says; package://NAME is a directory NAME beside the file or above it");
}

void add_actuator(mjSpec* spec, const mjsJoint& joint, const UrdfAdditions& additions) {
  const std::string name = mjs_getString(mjs_getName(joint.element));
  mjsActuator* actuator = mjs_addActuator(spec, nullptr);
  mjs_setName(actuator->element, name.c_str()), mjs_setString(actuator->target, name.c_str());
  actuator->trntype = mjTRN_JOINT;
  if (additions.actuators == "position") {
    double kv = additions.kv, ratio = 1;
    mjs_setToPosition(actuator, additions.kp, kv < 0 ? nullptr : &kv, kv < 0 ? &ratio : nullptr, nullptr, 0);
    if (joint.range[0] < joint.range[1]) std::copy_n(joint.range, 2, actuator->ctrlrange);
    return;
  }
  if (joint.actfrcrange[0] == joint.actfrcrange[1])
    throw UsageError("joint " + shown(name) +
                     " has no limit of effort (which is its motor's range): add <limit "
                     "effort=...>, or give --actuators position --kp ...");
  mjs_setToMotor(actuator);
  std::copy_n(joint.actfrcrange, 2, actuator->ctrlrange), actuator->ctrllimited = mjLIMITED_TRUE;
}

// Returns the height of the lowest point of a model's geoms that touch, above the world's origin.
double lowest_point(const mjModel& model) {
  const std::unique_ptr<mjData, decltype(&mj_deleteData)> data(mj_makeData(&model), mj_deleteData);
  mj_kinematics(&model, data.get());
  double lowest = std::numeric_limits<double>::infinity();
  for (int g = 0; g < model.ngeom; ++g) {
    if (model.geom_contype[g] == 0 && model.geom_conaffinity[g] == 0) continue;
    const mjtNum *up = data->geom_xmat + 9 * g + 6, *box = model.geom_aabb + 6 * g;
    const auto add = [&](const auto* at, double below) {
      lowest = std::min(lowest, data->geom_xpos[3 * g + 2] + up[0] * at[0] + up[1] * at[1] + up[2] * at[2] - below);
    };
    const int mesh = model.geom_type[g] == mjGEOM_MESH ? model.geom_dataid[g] : -1;
    for (int v = 0; mesh >= 0 && v < model.mesh_vertnum[mesh]; ++v)
      add(model.mesh_vert + 3 * (model.mesh_vertadr[mesh] + v), 0);
    if (mesh < 0) add(box, std::abs(up[0]) * box[3] + std::abs(up[1]) * box[4] + std::abs(up[2]) * box[5]);
  }
  return std::isfinite(lowest) ? lowest : 0;
}

}  // namespace

bool is_urdf(const std::string& file) { return fs::path(file).extension() == ".urdf"; }

std::unique_ptr<mjSpec, DeleteSpec> read_urdf(const std::string& file, const UrdfAdditions& additions) {
  require_file(file);
  install_mujoco_handlers();
  const UrdfText urdf = read_text(file);
  char text[1000] = "";
  std::unique_ptr<mjSpec, DeleteSpec> spec(mj_parseXMLString(urdf.text.c_str(), nullptr, text, sizeof(text)));
  const auto fail = [&](std::string why) {
    std::replace(why.begin(), why.end(), '\n', ' ');
    const bool lacks_inertia = why.find("mass and inertia") != std::string::npos;
    throw UsageError(printable(file) + " cannot be read (" + printable(trim(why), 500) +
                     "): " + (lacks_inertia ? "give each moving link an <inertial>" : "correct the file"));
  };
  if (!spec) fail(text);
  find_meshes(spec.get(), urdf, file);
  mjsBody* world = mjs_findBody(spec.get(), "world");
  mjsElement* first = mjs_firstChild(world, mjOBJ_BODY, 0);
  mjsBody* base = first ? mjs_asBody(first) : nullptr;
  if (additions.has_free_base && base) mjs_setName(mjs_addFreeJoint(base)->element, "base_free");
  if (additions.actuators != "none")
    for (mjsElement* e = mjs_firstElement(spec.get(), mjOBJ_JOINT); e; e = mjs_nextElement(spec.get(), e))
      if (const mjsJoint& joint = *mjs_asJoint(e); joint.type == mjJNT_HINGE || joint.type == mjJNT_SLIDE)
        add_actuator(spec.get(), joint, additions);
  const std::unique_ptr<mjModel, DeleteModel> model(mj_compile(spec.get(), nullptr));
  if (!model) fail(mjs_getError(spec.get()));
  mjsGeom* floor = mjs_addGeom(world, nullptr);
  const bool is_lifted = additions.has_free_base && base;
  (is_lifted ? base->pos[2] : floor->pos[2]) += (is_lifted ? -1 : 1) * lowest_point(*model);
  mjs_setName(floor->element, "floor");
  floor->type = mjGEOM_PLANE, floor->size[2] = 1;
  return spec;
}

}  // namespace drl

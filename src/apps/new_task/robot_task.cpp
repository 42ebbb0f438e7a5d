#include "apps/new_task/robot_task.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "apps/new_task/legged.hpp"
#include "apps/new_task/model_copy.hpp"
#include "apps/new_task/templates.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

using Values = std::vector<std::pair<std::string, std::string>>;  // texts that replace @KEY@

std::string replaced(std::string text, const Values& values) {
  for (const auto& [key, value] : values) {
    const std::string token = "@" + key + "@";
    for (size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += value.size())
      text.replace(at, token.size(), value);
  }
  return text;
}
// Rounds to this many digits, for numbers that are meant to be edited.
std::string rounded(double x, int digits = 2) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*e", digits - 1, x);
  return number_text(std::strtod(text, nullptr));
}
// Returns a string literal of C++.
std::string literal(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\', quoted += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      for (const int digit : {64, 8, 1}) quoted += digit == 64 ? "\\" : "", quoted += char('0' + c / digit % 8);
    else
      quoted += c;
  }
  return quoted + '"';
}
// Returns a text for an attribute of XML.
std::string attribute(const std::string& text) {
  std::string quoted;
  for (const char c : text) quoted += c == '"' ? "&quot;" : c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return quoted;
}

// Returns the body on which an actuator acts.
int body_of(const mjModel& m, int actuator) {
  const int target = m.actuator_trnid[2 * actuator];
  switch (m.actuator_trntype[actuator]) {
    case mjTRN_JOINT:
    case mjTRN_JOINTINPARENT:
      return m.jnt_bodyid[target];
    case mjTRN_TENDON: {
      const int first = m.tendon_adr[target], object = m.wrap_objid[first];
      return m.wrap_type[first] == mjWRAP_JOINT ? m.jnt_bodyid[object] : m.site_bodyid[object];
    }
    case mjTRN_BODY:
      return target;
    default:
      return m.site_bodyid[target];
  }
}

struct Control {
  double scale, offset;
  const char* unit = "";
  double stiffness = 0, damping = 0;
};
// `start` is the state at which episodes begin. Its controls count if they are set.
Control control_of(const mjModel& m, int actuator, const mjData& start) {
  const bool is_limited = m.actuator_ctrllimited[actuator];
  double low = m.actuator_ctrlrange[2 * actuator], high = m.actuator_ctrlrange[2 * actuator + 1];
  const int joint = m.actuator_trntype[actuator] == mjTRN_JOINT ? m.actuator_trnid[2 * actuator] : -1;
  const double gain = m.actuator_gainprm[mjNGAIN * actuator], back = m.actuator_biasprm[mjNBIAS * actuator + 1];
  const int activation = m.actuator_dyntype[actuator];
  const bool is_position = joint >= 0 && m.jnt_type[joint] >= mjJNT_SLIDE && gain > 0 && gain == -back &&
                           m.actuator_biastype[actuator] == mjBIAS_AFFINE &&
                           (activation == mjDYN_NONE || activation == mjDYN_FILTER || activation == mjDYN_FILTEREXACT);
  if (!is_position) {
    if (!is_limited) low = activation == mjDYN_MUSCLE ? 0 : -1, high = 1;
    return {std::max(0.5 * (high - low), 1e-6), 0.5 * (high + low)};
  }
  const bool has_controls = std::any_of(start.ctrl, start.ctrl + m.nu, [](double x) { return x != 0; });
  const double at = has_controls ? start.ctrl[actuator] : start.actuator_length[actuator];
  if (!is_limited && m.jnt_limited[joint]) low = m.jnt_range[2 * joint], high = m.jnt_range[2 * joint + 1];
  const double half = is_limited || m.jnt_limited[joint] ? std::max(0.5 * (high - low), 1e-6) : 0.5;
  const bool turns = m.jnt_type[joint] == mjJNT_HINGE;
  return {std::min(half, turns ? 0.5 : half), at, turns ? "rad" : "m", gain,
          0 - m.actuator_biasprm[mjNBIAS * actuator + 2]};
}

void write_text(const fs::path& path, const std::string& text) { write_file_atomically(path, bytes_of(text)); }

// The name that a C++ string or a line of comments gets.
std::string shown_file(const std::string& file) { return printable(fs::path(file).filename().string()); }

// --- Legged robots ---

std::string comment_on(const std::string& file, const std::vector<std::string>& changes) {
  std::string text = "\n  A copy of " + shown_file(file) + ", made by drl. What differs:\n";
  for (const std::string& change : changes) text += "  - " + change + "\n";
  size_t at = 0;  // comments of XML do not contain two hyphens
  while ((at = text.find("--")) != std::string::npos) text.replace(at, 2, "- -");
  return text;
}

std::string joint_lines(const Legged& robot) {
  std::string lines;
  for (const LeggedJoint& joint : robot.joints)
    lines +=
        fmt::format("      {{{}, {}, {{{}, {}, {}}}, {}, {}, {}}},\n", literal(joint.name), rounded(joint.angle, 4),
                    rounded(joint.torque, 4), rounded(joint.stiffness, 4), rounded(joint.damping, 3),
                    number_text(joint.standing), number_text(joint.walking), number_text(joint.running));
  return lines;
}

std::string mirror_lines(const Legged& robot) {
  if (!robot.is_symmetric)
    return "  static constexpr bool is_symmetric = false;  // as drl_new_task found; see Quadruped for how to name "
           "sides\n";
  std::string text =
      "  // A mirror exchanges names that begin like these, and reverses joints whose names contain a word of flips.\n";
  text += "  static constexpr const char* sides[][2] = {";
  for (size_t k = 0; k < robot.sides.size(); ++k)
    text +=
        fmt::format("{}{{{}, {}}}", k > 0 ? ", " : "", literal(robot.sides[k].first), literal(robot.sides[k].second));
  text += fmt::format("}};\n  static constexpr std::array<const char*, {}> flips{{", robot.flips.size());
  for (size_t k = 0; k < robot.flips.size(); ++k) text += (k > 0 ? ", " : "") + literal(robot.flips[k]);
  return text + "};\n";
}

std::string scene(const std::string& name, const std::string& model_name, const Legged& robot, bool is_rough) {
  std::string contacts, collides;
  for (const LeggedFoot& foot : robot.feet)
    contacts += fmt::format(
        "    <contact name=\"{}\" {}=\"{}\" geom2=\"drl_floor\" data=\"found force\" reduce=\"netforce\"/>\n",
        attribute(foot.contact), foot.geoms.size() == 1 ? "geom1" : "subtree1",
        attribute(foot.geoms.size() == 1 ? foot.geoms[0] : foot.body));
  if (!robot.tracked.empty())
    contacts += fmt::format(
        "    <contact name=\"self_contact\" subtree1=\"{0}\" subtree2=\"{0}\" data=\"found force\" reduce=\"none\"/>\n",
        attribute(robot.root));
  if (robot.floor_contype != 1 || robot.floor_conaffinity != 1)
    collides = fmt::format(" contype=\"{}\" conaffinity=\"{}\"", robot.floor_contype, robot.floor_conaffinity);
  return replaced(
      kFloor,
      {{"NAME", name},
       {"MODEL_NAME", model_name},
       {"GROUND_TEXT", is_rough ? "rough ground, which is flat until a task changes it (drl/terrain.hpp)" : "a floor"},
       {"FIELD", is_rough ? "    <hfield name=\"drl_floor\" nrow=\"41\" ncol=\"41\" size=\"2 2 1 0.1\"/>\n" : ""},
       {"GROUND", is_rough ? R"(type="hfield" hfield="drl_floor")" : R"(type="plane" size="0 0 0.01")"},
       {"LIGHT", robot.has_light ? "" : "    <light pos=\"0 0 3\" dir=\"0 0 -1\" directional=\"true\"/>\n"},
       {"COLLIDES", collides},
       {"CONTACTS", contacts}});
}

// Writes the copy of the model, its scene on flat ground, and the header from a template with further values. Returns
// what a user should know.
std::vector<std::string> write_legged(const RobotTask& task, const fs::path& folder, ModelCopy& copy, Legged& robot,
                                      const char* header, Values values) {
  const bool is_biped = robot.feet.size() == 2;
  change_copy(copy, robot);
  copy.save(folder, task.name + "_robot.xml", comment_on(task.file, robot.changes));
  write_text(folder / (task.name + ".xml"), scene(task.name, task.name, robot, false));
  std::string geoms, names;
  for (const LeggedFoot& foot : robot.feet) {
    names += (names.empty() ? "" : ", ") + printable(foot.body);
    for (const std::string& geom : foot.geoms) geoms += (geoms.empty() ? "" : ", ") + literal(geom);
  }
  const double timestep = copy.spec()->option.timestep;
  for (const auto& value : Values{{"LEGGED", kLegged},
                                  {"NAME", task.name},
                                  {"SHOWN", shown_file(task.file)},
                                  {"BASE", is_biped ? "humanoid" : "quadruped"},
                                  {"BASE_STRUCT", is_biped ? "Humanoid" : "Quadruped"},
                                  {"TIMESTEP", number_text(timestep)},
                                  {"SKIP", std::to_string(std::lround(0.02 / timestep))},
                                  {"HEIGHT", number_text(robot.height)},
                                  {"JOINTS", joint_lines(robot)},
                                  {"FOOT_GEOMS", geoms},
                                  {"BASE_JOINT", literal(robot.base)},
                                  {"ROOT", literal(robot.root)},
                                  {"TORSO", literal(robot.torso)}})
    values.push_back(value);
  write_text(folder / (task.name + ".hpp"), replaced(header, values));
  std::vector<std::string> notes = {fmt::format("Found {} feet ({}) and {}.", robot.feet.size(), names,
                                                counted(static_cast<int64_t>(robot.joints.size()), "motor"))};
  if (copy.model().nkey == 0)
    notes.push_back(
        "The model has no keyframe, so the robot starts, and stands, with the joint angles 0: edit the angles in " +
        task.name + ".hpp and `height`, or add a keyframe of the standing robot to the model.");
  notes.insert(notes.end(), robot.changes.begin(), robot.changes.end());
  return notes;
}

std::vector<std::string> write_velocity(const RobotTask& task, const fs::path& folder, ModelCopy& copy, int root) {
  Legged robot = find_legged(copy, root, task.feet);
  std::string feet;
  for (const LeggedFoot& foot : robot.feet)
    feet += fmt::format("      {{{}, {}, {}}},\n", literal(foot.site), literal(foot.body), literal(foot.contact));
  std::vector<std::string> notes =
      write_legged(task, folder, copy, robot, kVelocity, {{"MIRROR", mirror_lines(robot)}, {"FEET", feet}});
  write_text(folder / (task.name + "_rough.xml"), scene(task.name, task.name + "_rough", robot, true));
  notes.insert(notes.begin() + 1, std::string("The model is ") + (robot.is_symmetric ? "" : "not ") + "symmetric.");
  return notes;
}

// Returns a motion for drl_motion: the robot stands for two seconds.
std::string standing_motion(const Legged& robot) {
  std::string names = "root_x,root_y,root_z,root_qx,root_qy,root_qz,root_qw",
              frame = "0,0," + number_text(robot.height) + ",0,0,0,1", text;
  for (const LeggedJoint& joint : robot.joints) names += "," + joint.name, frame += "," + rounded(joint.angle, 4);
  for (int k = 0; k < 60; ++k) text += frame + "\n";
  return names + "\n" + text;
}

std::vector<std::string> write_track(const RobotTask& task, const fs::path& folder, ModelCopy& copy, int root) {
  Legged robot = find_legged(copy, root, task.feet);
  find_tracked(copy, robot);
  std::string bodies, ends;
  for (const std::string& body : robot.tracked) bodies += "      " + literal(body) + ",\n";
  for (const int k : robot.last_tracked) ends += (ends.empty() ? "" : ", ") + std::to_string(k);
  std::vector<std::string> notes =
      write_legged(task, folder, copy, robot, kTrack, {{"BODIES", bodies}, {"ENDS_AT", ends}});
  write_text(folder / (task.name + ".csv"), standing_motion(robot));
  notes.insert(
      notes.begin() + 1,
      fmt::format("{0}.csv is a motion in which the robot stands, and {0}.h5 was made from it. Track one of your "
                  "own: drl_motion walk.csv --model {0}.xml --output walk.h5, then --env.motion walk.h5.",
                  task.name));
  return notes;
}

// --- Other tasks ---

std::vector<std::string> write_other(const RobotTask& task, const fs::path& folder, ModelCopy& copy, int root) {
  const mjModel& m = copy.model();
  const std::string key = m.nkey > 0 ? copy.name(mjOBJ_KEY, 0) : "";
  const std::unique_ptr<mjData, void (*)(mjData*)> start(mj_makeData(&m), mj_deleteData);
  if (!key.empty()) mj_resetDataKeyframe(&m, start.get(), 0);
  mj_forward(&m, start.get());
  const int joint = m.body_jntnum[root] > 0 ? m.body_jntadr[root] : -1;
  const bool is_free = joint >= 0 && m.jnt_type[joint] == mjJNT_FREE;
  const int skip = std::max(1, static_cast<int>(std::lround(0.02 / m.opt.timestep)));
  std::string ranges, offsets, scales, actions;
  for (int a = 0; a < m.nu; ++a) {
    const Control control = control_of(m, a, *start);
    const std::string actuator = copy.name(mjOBJ_ACTUATOR, a), comma = a > 0 ? ", " : "";
    const std::string scale = rounded(control.scale), offset = rounded(control.offset);
    const std::string shown_name = actuator.empty() ? "actuator " + std::to_string(a) : literal(printable(actuator));
    ranges += fmt::format("      {{-1, 1, {}, {}}},  // {}\n", scale, offset, shown_name);
    offsets += comma + offset, scales += comma + scale;
    actions += fmt::format("      {{{}, \"{}\", 1, 1, 0, {}, {}}},\n",
                           actuator.empty() ? literal(shown_name) : literal(actuator), control.unit,
                           rounded(control.stiffness, 4), rounded(control.damping, 4));
  }
  std::string begin = key.empty() ? "" : "    robot.keyframe(" + literal(key) + ");\n";
  begin += "    for (int k = 0; k < nv; ++k) robot.set_qvel(k, draws.uniform(F(-0.05), F(0.05)));\n";
  const auto all_are = [&](int least) { return *std::min_element(m.jnt_type, m.jnt_type + m.njnt) >= least; };
  const std::string unit = all_are(mjJNT_HINGE) ? "rad" : "";

  Values values = {
      {"NAME", task.name},
      {"JOINT_COUNT", counted(m.njnt, "joint")},
      {"ACTUATOR_COUNT", counted(m.nu, "actuator")},
      {"SKIP", std::to_string(skip)},
      {"TIMESTEP", number_text(m.opt.timestep)},
      {"DT", number_text(skip * m.opt.timestep)},
      {"NQ", std::to_string(m.nq)},
      {"NV", std::to_string(m.nv)},
      {"NU", std::to_string(m.nu)},
      {"POSITIONS", all_are(mjJNT_SLIDE) ? "{\"joint_pos\", \"" + unit + "\", nq}" : "{\"qpos\", \"\", nq}"},
      {"VELOCITIES", all_are(mjJNT_SLIDE) ? "{\"joint_vel\", \"" + (unit.empty() ? "" : unit + "/s") + "\", nv}"
                                          : "{\"qvel\", \"\", nv}"},
      {"OFFSETS", offsets},
      {"SCALES", scales}};
  const auto add = [&](const Values& more) { values.insert(values.end(), more.begin(), more.end()); };
  const char* body = kBare;
  if (task.kind == TaskKind::reach) {
    body = kReach;
    int tip = m.nbody - 1;
    while (tip > 0 && (m.body_rootid[tip] != root || m.body_weldid[tip] == 0)) --tip;
    const double *at = start->xpos + 3 * tip, *base = start->xpos + 3 * root;
    const double length = std::hypot(at[0] - base[0], at[1] - base[1], at[2] - base[2]);
    add({{"PURPOSE", "bring the last body to a point that changes between episodes"},
         {"SPREAD", rounded(std::max(0.3 * length, 0.1 * m.stat.extent))},
         {"TIP", literal(copy.named(mjOBJ_BODY, tip, "tip"))}});
  } else if (is_free) {
    body = kFree;
    const double height = start->qpos[m.jnt_qposadr[joint] + 2];
    add({{"PURPOSE", "move along x without falling"},
         {"Q", std::to_string(m.jnt_qposadr[joint])},
         {"V", std::to_string(m.jnt_dofadr[joint])},
         {"SPEED", height > 0.5 ? "1" : "0.5"},
         {"HEIGHT", rounded(height)},
         {"LOWEST", rounded(height - 0.5 * std::max(std::abs(height), 0.1))}});
  } else {
    add({{"PURPOSE", "a start for rewards of your own"}});
  }
  // Texts of the user come last, because they may contain such words.
  add({{"RANGES", ranges}, {"ACTIONS", actions}, {"START", begin}, {"SHOWN", shown_file(task.file)}});
  copy.save(folder, task.name + ".xml",
            comment_on(task.file, {"Included files are part of it.", "Numbers have six digits."}));
  write_text(folder / (task.name + ".hpp"), replaced(std::string(kHead) + body + kTail, values));
  return {};
}

}  // namespace

void write_mjcf(const std::string& urdf, const UrdfAdditions& additions, const fs::path& output) {
  ModelCopy(urdf, additions)
      .save(output.parent_path(), output.filename().string(), comment_on(urdf, {"Its floor and actuators are drl's."}));
}

std::vector<std::string> write_robot_task(const RobotTask& asked, const fs::path& folder) {
  RobotTask task = asked;
  auto copy = std::make_unique<ModelCopy>(task.file, task.additions);
  const mjModel& m = copy->model();
  if (m.nu == 0)
    throw UsageError(printable(task.file) +
                     " has no actuators (a policy needs something to control): add them to the file");
  // The robot is what the first actuator moves; there may be objects beside it.
  const int root = m.body_rootid[body_of(m, 0)], joint = m.body_jntnum[root] > 0 ? m.body_jntadr[root] : -1;
  const bool is_free = joint >= 0 && m.jnt_type[joint] == mjJNT_FREE;
  if (!task.feet.empty() && task.kind == TaskKind::by_model) task.kind = TaskKind::velocity;
  std::vector<std::string> notes;
  const auto write = [&] {
    return task.kind == TaskKind::track      ? write_track(task, folder, *copy, root)
           : task.kind == TaskKind::velocity ? write_velocity(task, folder, *copy, root)
                                             : write_other(task, folder, *copy, root);
  };
  if (task.kind == TaskKind::by_model && !is_free) task.kind = TaskKind::reach;
  if (task.kind == TaskKind::by_model) {
    try {
      notes = write_velocity(task, folder, *copy, root);
      task.kind = TaskKind::velocity;
    } catch (const UsageError& error) {
      notes = {std::string("The task only makes the robot move along x, because ") + error.what() + "."};
      task.kind = TaskKind::bare;
      copy = std::make_unique<ModelCopy>(task.file, task.additions);
      write();
    }
  } else {
    notes = write();
  }

  const bool is_velocity = task.kind == TaskKind::velocity;
  std::string models = "MODELS " + task.name + ".hpp=" + task.name + ".xml", tests;
  if (is_velocity) models += " " + task.name + ".hpp=" + task.name + "_rough.xml";
  for (const std::string suffix : {"", "-Rough"})
    if (suffix.empty() || is_velocity)
      tests += "add_test(NAME contract" + suffix +
               " COMMAND ${drl_BIN_DIR}/drl_check_task --task_library $<TARGET_FILE:" + task.name + "> --task " +
               task.name + suffix + ")\n";
  std::string list;
  for (const std::string& note : notes) list += "\n- " + note;
  const Values values = {{"NAME", task.name},
                         {"MODELS", models},
                         {"TESTS", tests},
                         {"HEADER", is_velocity ? "its joints, motors and feet; see drl/robots/velocity.hpp"
                                    : task.kind == TaskKind::track
                                        ? "its joints, motors, tracked bodies and preset; see drl/robots/tracking.hpp"
                                        : "observations, rewards, ends, preset; see drl/robot.hpp"},
                         {"NOTES", list}};
  write_text(folder / "CMakeLists.txt", replaced(kRobotCmake, values));
  write_text(folder / "README.md", replaced(kRobotReadme, values));
  return notes;
}

}  // namespace drl

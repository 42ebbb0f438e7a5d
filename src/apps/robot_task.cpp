#include "apps/robot_task.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "apps/robot_task_parts.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "drl/physics/mujoco_model.hpp"

namespace drl {
namespace {

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [token, value] : values)
    for (size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += value.size())
      text.replace(at, token.size(), value);
  return text;
}
// Rounds to two digits, for numbers that are meant to be edited.
double rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1e", x);
  return std::strtod(text, nullptr);
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
std::string name_of(const mjModel& m, mjtObj kind, int index) {
  const char* name = mj_id2name(&m, kind, index);
  return name ? name : "";
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
  return {std::min(half, m.jnt_type[joint] == mjJNT_HINGE ? 0.5 : half), at};
}

}  // namespace

std::string robot_task(const std::string& file, const std::string& name) {
  const std::string path = std::filesystem::absolute(file).lexically_normal().string();
  if (path.find_first_of("\"\\;\n") != std::string::npos)
    throw UsageError(printable(path, 1000) +
                     " has a quote, a backslash, a semicolon or a line end in its path (CMake does not find such "
                     "files): rename it");
  std::unique_ptr<mjModel, DeleteModel> model;
  try {
    model = load_model(file);
  } catch (const std::invalid_argument& error) {
    throw UsageError(printable(error.what(), 1000));
  }
  const mjModel& m = *model;
  if (m.nu == 0)
    throw UsageError(printable(file) + " has no actuators (a policy needs something to control): add them to the file");
  const std::string key = m.nkey > 0 ? name_of(m, mjOBJ_KEY, 0) : "";
  const std::unique_ptr<mjData, void (*)(mjData*)> start(mj_makeData(&m), mj_deleteData);
  if (!key.empty()) mj_resetDataKeyframe(&m, start.get(), 0);
  mj_forward(&m, start.get());

  // The robot is what the first actuator moves; there may be objects beside it.
  const int root = m.body_rootid[body_of(m, 0)], joint = m.body_jntnum[root] > 0 ? m.body_jntadr[root] : -1;
  const bool is_free = joint >= 0 && m.jnt_type[joint] == mjJNT_FREE;
  const int skip = std::max(1, static_cast<int>(std::lround(0.02 / m.opt.timestep)));
  std::string ranges, offsets, scales;
  for (int a = 0; a < m.nu; ++a) {
    const Control control = control_of(m, a, *start);
    const std::string actuator = name_of(m, mjOBJ_ACTUATOR, a), comma = a > 0 ? ", " : "";
    const std::string scale = number_text(rounded(control.scale)), offset = number_text(rounded(control.offset));
    ranges += fmt::format("      {{-1, 1, {}, {}}},  // {}\n", scale, offset,
                          actuator.empty() ? "actuator " + std::to_string(a) : literal(printable(actuator)));
    offsets += comma + offset, scales += comma + scale;
  }
  std::string begin = key.empty() ? "" : "    robot.keyframe(" + literal(key) + ");\n";
  begin += "    for (int k = 0; k < nv; ++k) robot.set_qvel(k, draws.uniform(F(-0.05), F(0.05)));\n";

  std::vector<std::pair<std::string, std::string>> values = {
      {"@NAME@", name},
      {"@JOINTS@", counted(m.njnt, "joint")},
      {"@ACTUATORS@", counted(m.nu, "actuator")},
      {"@SKIP@", std::to_string(skip)},
      {"@TIMESTEP@", number_text(m.opt.timestep)},
      {"@DT@", number_text(skip * m.opt.timestep)},
      {"@NQ@", std::to_string(m.nq)},
      {"@NV@", std::to_string(m.nv)},
      {"@NU@", std::to_string(m.nu)},
      {"@OFFSETS@", offsets},
      {"@SCALES@", scales},
  };
  if (is_free) {
    const double height = start->qpos[m.jnt_qposadr[joint] + 2];
    values.insert(values.end(), {{"@PURPOSE@", "move along x without falling"},
                                 {"@Q@ + 2", std::to_string(m.jnt_qposadr[joint] + 2)},
                                 {"@Q@ + 4", std::to_string(m.jnt_qposadr[joint] + 4)},
                                 {"@Q@ + 5", std::to_string(m.jnt_qposadr[joint] + 5)},
                                 {"@Q@ + 1", std::to_string(m.jnt_qposadr[joint] + 1)},
                                 {"@Q@", std::to_string(m.jnt_qposadr[joint])},
                                 {"@V@", std::to_string(m.jnt_dofadr[joint])},
                                 {"@SPEED@", height > 0.5 ? "1" : "0.5"},
                                 {"@HEIGHT@", number_text(rounded(height))},
                                 {"@LOWEST@", number_text(rounded(height - 0.5 * std::max(std::abs(height), 0.1)))}});
  } else {
    int tip = m.nbody - 1;
    while (tip > 0 && (m.body_rootid[tip] != root || m.body_weldid[tip] == 0 || name_of(m, mjOBJ_BODY, tip).empty()))
      --tip;
    if (tip == 0)
      throw UsageError("no body that the actuators of " + printable(file) +
                       " move has a name (the task finds the robot's end by its name): name it in the file");
    const double *at = start->xpos + 3 * tip, *base = start->xpos + 3 * root;
    const double length = std::hypot(at[0] - base[0], at[1] - base[1], at[2] - base[2]);
    values.insert(values.end(), {{"@PURPOSE@", "bring the last body to a point that changes between episodes"},
                                 {"@SPREAD@", number_text(rounded(std::max(0.3 * length, 0.1 * m.stat.extent)))},
                                 {"@TIP@", literal(name_of(m, mjOBJ_BODY, tip))}});
  }
  // Texts of the user come last, because they may contain such words.
  values.insert(values.end(), {{"@RANGES@", ranges},
                               {"@START@", begin},
                               {"@SHOWN@", printable(std::filesystem::path(file).filename().string())},
                               {"@FILE@", literal(path)}});
  // The parts of the header are the files of apps/robot_task/.
  return replaced(std::string(kHead) + (is_free ? kFree : kFixed) + kTail, values);
}

}  // namespace drl

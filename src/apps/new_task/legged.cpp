#include "apps/new_task/legged.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "drl/robots/velocity.hpp"

namespace drl {
namespace {

using Point = std::array<double, 3>;

// Reads the model at its start: the first keyframe, or the file's positions if there is none.
class AtStart {
 public:
  AtStart(const mjModel& model, int root)
      : m(model), data_(mj_makeData(&model), mj_deleteData), d(*data_), root_(root) {
    if (m.nkey > 0) mj_resetDataKeyframe(&m, &d, 0);
    const int joint = m.body_jntnum[root] > 0 ? m.body_jntadr[root] : -1;
    is_free = joint >= 0 && m.jnt_type[joint] == mjJNT_FREE;
    if (is_free) {
      double* orientation = d.qpos + m.jnt_qposadr[joint] + 3;
      is_upright = std::hypot(orientation[1], orientation[2]) < 0.05;
      std::copy_n(std::array<double, 4>{1, 0, 0, 0}.data(), 4, orientation);
      free_joint = joint;
    }
    mj_forward(&m, &d);
  }
  // Returns the body that moves with a body: the body itself, or the one to which it is fixed.
  int moving(int body) const { return m.body_weldid[body]; }
  bool is_of_robot(int body) const { return moving(body) != 0 && m.body_rootid[body] == root_; }
  bool can_touch(int geom) const { return (m.geom_contype[geom] | m.geom_conaffinity[geom]) != 0; }
  // Returns where a geom would touch the floor: the lowest point of a flat geom, and of a round one, the middle of its
  // curvature.
  Point sole(int geom) const {
    const double *at = d.geom_xpos + 3 * geom, *turn = d.geom_xmat + 9 * geom, *size = m.geom_size + 3 * geom;
    Point point{at[0], at[1], at[2]};
    const double end = turn[8] > 0 ? -size[1] : size[1];  // along the geom's axis
    if (m.geom_type[geom] == mjGEOM_CAPSULE)
      for (int k = 0; k < 3; ++k) point[k] += end * turn[3 * k + 2];
    else if (m.geom_type[geom] != mjGEOM_SPHERE)
      point[2] = lowest(geom);
    return point;
  }
  double lowest(int geom) const {
    const double *at = d.geom_xpos + 3 * geom, *turn = d.geom_xmat + 9 * geom, *size = m.geom_size + 3 * geom;
    const double slope = std::sqrt(std::max(0.0, 1 - turn[8] * turn[8]));
    switch (m.geom_type[geom]) {
      case mjGEOM_SPHERE:
        return at[2] - size[0];
      case mjGEOM_CAPSULE:
        return at[2] - size[1] * std::abs(turn[8]) - size[0];
      case mjGEOM_CYLINDER:
        return at[2] - size[1] * std::abs(turn[8]) - size[0] * slope;
      case mjGEOM_BOX:
        return at[2] - size[0] * std::abs(turn[6]) - size[1] * std::abs(turn[7]) - size[2] * std::abs(turn[8]);
      case mjGEOM_ELLIPSOID:
        return at[2] - std::hypot(size[0] * turn[6], size[1] * turn[7], size[2] * turn[8]);
      case mjGEOM_MESH: {
        const int mesh = m.geom_dataid[geom];
        double lowest = at[2];
        for (int v = 0; v < m.mesh_vertnum[mesh]; ++v) {
          const float* p = m.mesh_vert + 3 * (m.mesh_vertadr[mesh] + v);
          lowest = std::min(lowest, at[2] + turn[6] * p[0] + turn[7] * p[1] + turn[8] * p[2]);
        }
        return lowest;
      }
      default:
        return at[2];
    }
  }

 private:
  const mjModel& m;
  const std::unique_ptr<mjData, void (*)(mjData*)> data_;

 public:
  mjData& d;
  bool is_free = false, is_upright = false;
  int free_joint = -1;

 private:
  int root_;
};

struct FoundFoot {
  int body = 0;
  double lowest = 1e9;
  std::vector<int> geoms = {};
  Point sole{};
};

[[noreturn]] void refuse(const std::string& why, const std::string& what) {
  throw UsageError("this robot cannot follow velocities or motions (" + why + "): " + what);
}

// Returns how many moving bodies follow each body that moves.
std::vector<int> moving_children(const mjModel& m) {
  std::vector<int> children(m.nbody, 0);
  for (int b = 1; b < m.nbody; ++b)
    if (m.body_weldid[b] == b) ++children[m.body_weldid[m.body_parentid[b]]];
  return children;
}

std::vector<FoundFoot> find_feet(const ModelCopy& copy, const AtStart& start, const std::vector<std::string>& named) {
  const mjModel& m = copy.model();
  std::vector<FoundFoot> feet;
  double lowest = 1e9;
  const std::vector<int> children = moving_children(m);
  for (int g = 0; g < m.ngeom; ++g) {
    const int body = start.moving(m.geom_bodyid[g]);
    if (!start.is_of_robot(body) || !start.can_touch(g)) continue;
    lowest = std::min(lowest, start.lowest(g));
    auto foot = std::ranges::find(feet, body, &FoundFoot::body);
    if (foot == feet.end()) foot = feet.insert(feet.end(), FoundFoot{.body = body});
    foot->geoms.push_back(g), foot->lowest = std::min(foot->lowest, start.lowest(g));
  }
  const double height = start.d.xpos[3 * m.jnt_bodyid[start.free_joint] + 2] - lowest;
  std::vector<int> wanted;
  for (const std::string& name : named) {
    const int body = mj_name2id(&m, mjOBJ_BODY, name.c_str());
    if (body < 0)
      throw UsageError("--feet " + shown(name) + " is no body of the model: name bodies, such as --feet left,right");
    wanted.push_back(start.moving(body));
  }
  std::erase_if(feet, [&](const FoundFoot& foot) {
    return named.empty() ? children[foot.body] > 0 || foot.lowest > lowest + std::max(0.01, 0.1 * height)
                         : std::ranges::find(wanted, foot.body) == wanted.end();
  });
  if (!named.empty() && feet.size() != named.size())
    throw UsageError("--feet names a body that has no geom to stand on, or a body twice: name one body for each foot");
  if (feet.size() < 2)
    refuse(feet.empty()
               ? "no last body of a chain touches the floor at the start"
               : "only the body " + shown(copy.name(mjOBJ_BODY, feet[0].body)) + " would touch the floor at the start",
           "name the bodies that are feet, with --feet NAME,NAME, or give --kind bare");
  for (FoundFoot& foot : feet) {
    std::erase_if(foot.geoms, [&](int g) { return start.lowest(g) > foot.lowest + std::max(0.005, 0.03 * height); });
    for (const int g : foot.geoms)
      for (int k = 0; k < 3; ++k) foot.sole[k] += start.sole(g)[k] / static_cast<double>(foot.geoms.size());
  }
  return feet;
}

double largest(const double* range) { return std::max(std::abs(range[0]), std::abs(range[1])); }

// Returns the numbers of an actuator's position controller. `most` is the largest torque that makes sense for a robot
// of this weight and height.
LeggedJoint read_actuator(const ModelCopy& copy, const AtStart& start, int a, double most) {
  const mjModel& m = copy.model();
  const std::string shown_name = shown(copy.name(mjOBJ_ACTUATOR, a));
  const int joint = m.actuator_trnid[2 * a];
  const bool is_of_joint = m.actuator_trntype[a] == mjTRN_JOINT || m.actuator_trntype[a] == mjTRN_JOINTINPARENT;
  if (!is_of_joint || m.jnt_type[joint] != mjJNT_HINGE)
    refuse("actuator " + shown_name + " does not turn a hinge joint", "give --kind bare");
  const double gain = m.actuator_gainprm[mjNGAIN * a], *bias = m.actuator_biasprm + mjNBIAS * a;
  const double gear = m.actuator_gear[6 * a];
  LeggedJoint result{.name = copy.name(mjOBJ_JOINT, joint), .angle = start.d.qpos[m.jnt_qposadr[joint]]};
  double limit = m.actuator_forcelimited[a] ? largest(m.actuator_forcerange + 2 * a) * std::abs(gear) : 0;
  if (m.jnt_actfrclimited[joint]) limit = std::min(limit > 0 ? limit : 1e9, largest(m.jnt_actfrcrange + 2 * joint));
  const bool is_fixed = m.actuator_gaintype[a] == mjGAIN_FIXED && m.actuator_dyntype[a] == mjDYN_NONE;
  if (is_fixed && m.actuator_biastype[a] == mjBIAS_NONE) {
    if (m.actuator_ctrllimited[a])
      limit = std::min(limit > 0 ? limit : 1e9, largest(m.actuator_ctrlrange + 2 * a) * std::abs(gear * gain));
    result.was_torque = true;
    result.torque = limit > 0 ? std::min(limit, most) : most;
    result.stiffness = 0.7 * result.torque, result.damping = 0.04 * result.stiffness;
  } else if (is_fixed && m.actuator_biastype[a] == mjBIAS_AFFINE && gain > 0 && bias[1] == -gain && gear == 1) {
    result.stiffness = gain;
    result.damping = bias[2] != 0 ? -bias[2] : m.dof_damping[m.jnt_dofadr[joint]];
    result.torque = std::clamp(limit > 0 ? limit : gain, 0.8 * gain, 2 * gain);  // 0.2 to 0.5 rad per unit of an action
  } else {
    refuse("actuator " + shown_name + " is neither a motor nor a position controller", "give --kind bare");
  }
  return result;
}

// Sets the deviations that are tolerated: those of Quadruped (drl/robots/quadruped.hpp), or those of mjlab's G1.
void set_tolerances(const ModelCopy& copy, const AtStart& start, const std::vector<FoundFoot>& feet, int joint,
                    LeggedJoint& of) {
  const mjModel& m = copy.model();
  const auto is_above = [&](int body) {  // how many feet follow the joint
    return std::ranges::count_if(feet, [&](const FoundFoot& foot) {
      for (int b = foot.body; b > 0; b = m.body_parentid[b])
        if (b == body) return true;
      return false;
    });
  };
  const int body = m.jnt_bodyid[joint];
  const bool is_of_leg = is_above(body) == 1, bends = std::abs(start.d.xaxis[3 * joint + 1]) > 0.7;
  const bool is_last = std::ranges::any_of(feet, [&](const FoundFoot& foot) { return foot.body == body; });
  const auto set = [&](double standing, double walking, double running) {
    of.standing = standing, of.walking = walking, of.running = running;
  };
  if (!is_of_leg)
    set(0.05, 0.15, 0.3);
  else if (feet.size() == 2)
    bends ? set(0.05, 0.35, 0.6) : set(0.05, 0.15, 0.2);
  else
    bends&& is_last ? set(0.1, 0.6, 0.6) : set(0.05, 0.3, 0.3);
}

// --- The mirror ---

bool is_near(const double* a, const double* b, const double* origin, double tolerance) {
  double mirrored[3];
  for (int k = 0; k < 3; ++k) mirrored[k] = (a[k] - origin[k]) * (k == 1 ? -1 : 1) - (b[k] - origin[k]);
  return std::hypot(mirrored[0], mirrored[1], mirrored[2]) < tolerance;
}

struct Mirrored {
  int source = -1;
  double sign = 0;
};
// Returns what a reflection in the root's x-z plane does to the joint of the actuator `a`, or nothing.
std::optional<Mirrored> mirror_of(const ModelCopy& copy, const AtStart& start, const Legged& robot,
                                  const double* origin, int a) {
  const mjModel& m = copy.model();
  const auto joint_of = [&](int actuator) { return m.actuator_trnid[2 * actuator]; };
  const auto is_close = [](double x, double y) { return std::abs(x - y) <= 1e-3 + 0.01 * std::abs(x); };
  const int j = joint_of(a);
  for (int b = 0; b < m.nu; ++b) {
    const int k = joint_of(b);
    if (!is_near(start.d.xanchor + 3 * j, start.d.xanchor + 3 * k, origin, 0.02 * robot.height)) continue;
    const double *x = start.d.xaxis + 3 * j, *y = start.d.xaxis + 3 * k;
    const double along = -x[0] * y[0] + x[1] * y[1] - x[2] * y[2];  // a rotation's axis is a pseudovector
    if (std::abs(along) < 0.99) continue;
    const double sign = along > 0 ? 1 : -1;
    const LeggedJoint &one = robot.joints[a], &other = robot.joints[b];
    if (is_close(one.angle, sign * other.angle) && is_close(one.stiffness, other.stiffness) &&
        is_close(one.torque, other.torque) && is_close(m.body_mass[m.jnt_bodyid[j]], m.body_mass[m.jnt_bodyid[k]]))
      return Mirrored{b, sign};
  }
  return std::nullopt;
}
// Returns the text before the first '_' that two names have in common at their ends, or the names.
std::pair<std::string, std::string> side_names(const std::string& a, const std::string& b) {
  size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[a.size() - 1 - same] == b[b.size() - 1 - same]) ++same;
  const size_t mark = a.find('_', a.size() - same);
  if (mark == std::string::npos || mark == 0) return {a, b};
  return {a.substr(0, mark), b.substr(0, b.size() - (a.size() - mark))};
}
// Sets is_symmetric, sides and flips so that velocity::Task finds the mirror by names, if there is one.
void find_mirror(const ModelCopy& copy, const AtStart& start, const std::vector<FoundFoot>& feet, int root,
                 Legged& robot) {
  const double* origin = start.d.xpos + 3 * root;
  const int count = static_cast<int>(robot.joints.size()), foot_count = static_cast<int>(feet.size());
  std::vector<Mirrored> joints;
  for (int a = 0; a < count; ++a) {
    const std::optional<Mirrored> of = mirror_of(copy, start, robot, origin, a);
    if (!of) return;
    joints.push_back(*of);
  }
  std::vector<int> mirrored_feet;
  for (const FoundFoot& foot : feet) {
    const auto other = std::ranges::find_if(feet, [&](const FoundFoot& candidate) {
      return is_near(foot.sole.data(), candidate.sole.data(), origin, 0.05 * robot.height);
    });
    if (other == feet.end()) return;
    mirrored_feet.push_back(static_cast<int>(other - feet.begin()));
  }
  std::vector<std::pair<std::string, std::string>> names;  // that change places
  for (int a = 0; a < count; ++a)
    if (joints[a].source > a) names.emplace_back(robot.joints[a].name, robot.joints[joints[a].source].name);
  for (int f = 0; f < foot_count; ++f)
    if (mirrored_feet[f] > f) names.emplace_back(robot.feet[f].site, robot.feet[mirrored_feet[f]].site);
  const auto add = [](auto& list, const auto& entry) {
    if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
  };
  using Sides = std::vector<std::pair<std::string, std::string>>;
  const auto agrees = [&](const Sides& sides) {
    std::vector<std::array<const char*, 2>> all;
    for (const auto& [left, right] : sides) all.push_back({left.c_str(), right.c_str()});
    const auto finds = [&](int of, int among, int source, const auto& name) {
      int found = -1;
      for (int k = 0; k < among; ++k)
        if (velocity::are_mirrored(name(of), name(k), all)) found = found < 0 || found == k ? k : -2;
      return found == source;
    };
    for (int a = 0; a < count; ++a)
      if (!finds(a, count, joints[a].source, [&](int k) { return std::string_view(robot.joints[k].name); }))
        return false;
    for (int f = 0; f < foot_count; ++f)
      if (!finds(f, foot_count, mirrored_feet[f], [&](int k) { return std::string_view(robot.feet[k].site); }))
        return false;
    return true;
  };
  Sides short_names;
  for (const auto& [left, right] : names) add(short_names, side_names(left, right));
  robot.sides = agrees(short_names) ? short_names : names;
  if (!agrees(robot.sides)) return;

  // Joints that turn the other way, by what their names have in common besides the side.
  const auto is_one_of = [&](const std::vector<std::string>& words) {
    for (int a = 0; a < count; ++a) {
      const bool is_named = std::ranges::any_of(
          words, [&](const std::string& word) { return robot.joints[a].name.find(word) != std::string::npos; });
      if (is_named != (joints[a].sign < 0)) return false;
    }
    return true;
  };
  std::vector<std::string> words, whole;
  for (int a = 0; a < count; ++a) {
    if (joints[a].sign > 0) continue;
    std::string word = robot.joints[a].name;
    whole.push_back(word);
    for (const auto& [left, right] : robot.sides)
      for (const std::string& side : {left, right})
        if (word.starts_with(side) && word.size() > side.size()) word = word.substr(side.size());
    add(words, word);
  }
  robot.flips = is_one_of(words) ? words : whole;
  robot.is_symmetric = is_one_of(robot.flips);
}

LeggedFoot describe_foot(ModelCopy& copy, const AtStart& start, const FoundFoot& found) {
  LeggedFoot foot{.body = copy.named(mjOBJ_BODY, found.body, "foot"), .body_id = found.body};
  const double *at = start.d.xpos + 3 * found.body, *turn = start.d.xmat + 9 * found.body;
  foot.site = copy.free_name(mjOBJ_SITE, foot.body + "_sole"), foot.contact = foot.body + "_contact";
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 3; ++i) foot.sole[k] += turn[3 * i + k] * (found.sole[i] - at[i]);
    foot.sole[k] = std::round(1e5 * foot.sole[k]) / 1e5;
  }
  for (const int g : found.geoms) foot.geoms.push_back(copy.named(mjOBJ_GEOM, g, foot.body + "_geom"));
  foot.geom_ids = found.geoms;
  return foot;
}

}  // namespace

Legged find_legged(ModelCopy& copy, int root, const std::vector<std::string>& feet_named) {
  const mjModel& m = copy.model();
  const AtStart start(m, root);
  if (!start.is_free) refuse("its first body is not on a free joint", "give --kind reach or bare");
  if (!start.is_upright)
    refuse("its first body is turned at the start, but its x axis should point ahead and its z axis up",
           "turn the body's frame in the file, or give --kind bare");
  const std::vector<FoundFoot> feet = find_feet(copy, start, feet_named);

  Legged robot{.root_id = root};
  const auto lowest = std::ranges::min(feet, {}, &FoundFoot::lowest).lowest;
  robot.height = std::ceil(1e3 * (start.d.xpos[3 * root + 2] - lowest)) / 1e3;
  robot.mass = m.body_subtreemass[root];
  const double most = std::round(robot.mass * 9.81 * robot.height * 10) / 10;
  std::vector<bool> is_driven(m.njnt, false);
  for (int a = 0; a < m.nu; ++a) {
    robot.joints.push_back(read_actuator(copy, start, a, most));
    const int joint = m.actuator_trnid[2 * a];
    if (is_driven[joint])
      refuse("two actuators move the joint " + shown(robot.joints[a].name),
             "leave one for each joint, or give --kind bare");
    is_driven[joint] = true;
    set_tolerances(copy, start, feet, joint, robot.joints[a]);
  }

  robot.root = copy.named(mjOBJ_BODY, root, "root"), robot.torso = robot.root;
  robot.base = copy.named(mjOBJ_JOINT, start.free_joint, "floating_base_joint");
  for (const char* torso : {"torso", "torso_link"})
    if (feet.size() == 2 && mj_name2id(&m, mjOBJ_BODY, torso) >= 0) robot.torso = torso;
  for (int a = 0; a < m.nu; ++a)
    robot.joints[a].name = copy.named(mjOBJ_JOINT, m.actuator_trnid[2 * a], fmt::format("joint{}", a + 1));
  for (const FoundFoot& foot : feet) robot.feet.push_back(describe_foot(copy, start, foot));
  find_mirror(copy, start, feet, root, robot);
  robot.has_light = m.nlight > 0;
  return robot;
}

void find_tracked(ModelCopy& copy, Legged& robot) {
  const mjModel& m = copy.model();
  for (int j = 0; j < m.njnt; ++j)
    if (j > 0 && std::find(m.actuator_trnid, m.actuator_trnid + 2 * m.nu, j) == m.actuator_trnid + 2 * m.nu)
      refuse("the joint " + shown(copy.name(mjOBJ_JOINT, j)) + " has no motor", "remove the joint or add a motor");
  const auto add = [&](int body, const char* wanted) { robot.tracked.push_back(copy.named(mjOBJ_BODY, body, wanted)); };
  const std::vector<int> children = moving_children(m);
  add(robot.root_id, "root");
  for (int b = robot.root_id + 1; b < m.nbody; ++b) {
    if (m.body_weldid[b] != b || m.body_rootid[b] != robot.root_id) continue;
    if (children[b] > 1) add(b, "branch");
    if (children[b] > 0) continue;
    std::vector<int> chain;  // from the last body up to where it branches off
    for (int at = b; at != robot.root_id && children[at] < 2; at = m.body_weldid[m.body_parentid[at]])
      chain.push_back(at);
    if (chain.size() > 2) add(chain[(chain.size() - 1) / 2], "link");
    robot.last_tracked.push_back(static_cast<int>(robot.tracked.size()));
    add(b, "end");
  }
  robot.torso = robot.root;
}

}  // namespace drl

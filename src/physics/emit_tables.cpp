#include "physics/emit_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "drl/task/abi.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

// Returns the part of a contact's friction that does not vary.
double friction_of(const auto& contact, bool varies) {
  const ConeFriction& cone = contact.cone;
  return varies && cone.dimensions > 1 && !cone.varies.empty() ? cone.fixed[0] : contact.friction;
}

std::string emit_points(const RobotModel& model) {
  const bool varies = edges_vary(model);
  const std::vector<int> bodies = touching_bodies(model), frames = touching_frames(model);
  std::string text;
  for (const FloorContact& c : model.elliptic ? std::vector<FloorContact>{} : model.contacts) {
    text += "        " + remark(c.name) + "\n";
    text += wrapped("{" + std::to_string(bodies[static_cast<size_t>(c.body)]) + ", " +
                        std::to_string(frames[static_cast<size_t>(c.frame)]) + ", " +
                        listed({c.radius, c.height, c.margin, friction_of(c, varies),
                                varies ? c.weight_without_friction : c.weight}) +
                        ", " + softness_of(c.softness) + (varies ? varies_of(c.cone) : "") + "},",
                    "        ");
  }
  return emit_table(
      "  // Body, frame, radius, height of the plane, margin, friction, weight; stiffness, damping, impedance.\n",
      "ContactPoint", "point", "kContacts", text);
}

// Returns the degrees of freedom from `first` to first + 63 that move a body, as bits.
std::string moved_by(const RobotModel& model, int body, size_t first) {
  uint64_t bits = 0;
  for (; body >= 0; body = model.bodies[static_cast<size_t>(body)].parent)
    for (size_t i = 0; i < model.dofs.size(); ++i)
      if (model.dofs[i].body == body && i / 64 == first / 64) bits |= uint64_t{1} << i % 64;
  char text[20];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

std::string emit_pair_geoms(const RobotModel& model) {
  constexpr const char* kKinds[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
  const std::vector<int> frames = touching_frames(model);
  const bool has_more_bits = model.nv > 64;
  std::string text;
  int turned = 0;
  for (const PairGeom& r : model.pair_geoms) {
    const int tree = r.body < 0 ? 0 : model.bodies[static_cast<size_t>(r.body)].tree;
    text += "        " + remark(r.name) + "\n        {" + std::to_string(frames[static_cast<size_t>(r.frame)]) + ", " +
            std::to_string(tree) + ", " + moved_by(model, r.body, 0) + ", " + number(r.radius);
    if (r.is_turned() || has_more_bits)
      text += ", " + std::to_string(r.is_turned() ? turned++ : -1) + ", ShapeKind::" + kKinds[r.kind] + ", {" +
              listed({r.size[0], r.size[1], r.size[2]}) + "}, {" + listed({r.extent[0], r.extent[1], r.extent[2]}) +
              "}, " + std::to_string(r.hull);
    if (has_more_bits)
      text += ", {" + moved_by(model, r.body, 64) + ", " + moved_by(model, r.body, 128) + ", " +
              moved_by(model, r.body, 192) + "}";
    text += "},\n";
  }
  return emit_table(
      "  // Frame, tree, bits of the qvel that move it, radius; place of its axes, kind, size, hull, more bits.\n",
      "PairGeom", "pair_geom", "kPairGeoms", text);
}

// Writes the branches of bodies with contacts and of joints with limits.
std::string emit_branches(const RobotModel& model, const std::vector<int>& branch) {
  std::vector<int> of_bodies, of_limits;
  const std::vector<int> touching = touching_bodies(model);
  for (size_t b = 0; b < branch.size(); ++b)
    if (touching[b] >= 0) of_bodies.push_back(branch[b]);
  for (const Joint* joint : limited_joints(model))
    of_limits.push_back(branch[static_cast<size_t>(model.dofs[static_cast<size_t>(joint->dof)].body)]);
  const auto text = [](int k) { return std::to_string(k); };
  const auto table = [&](const std::string& comment, const std::string& name, const char* size, const auto& list) {
    return emit_table(comment, "int", name, size, list.empty() ? "" : wrapped(listed(list, text) + ",", "        "));
  };
  return table("  // The branches of the bodies that contacts use and of the limits; -1 for the trunk.\n",
               "branch_of_body", "kTouchingBodies", of_bodies) +
         table("", "branch_of_limit", "kLimits", of_limits);
}

std::string emit_frictions(const RobotModel& model) {
  std::string text;
  for (const int dof : frictional_dofs(model)) {
    const DryFriction& friction = *model.dofs[static_cast<size_t>(dof)].friction;
    text += "        {" + std::to_string(dof) + ", " + listed({friction.weight, friction.most}) + "},\n";
  }
  return text.empty() ? ""
                      : emit_table("  // Index into qvel, weight, largest force.\n", "DryFriction", "friction",
                                   "kFrictions", text);
}

// Keyframes have hashes of their names, because GPU code has no tables of texts.
std::string emit_keyframes(const RobotModel& model) {
  if (model.keyframes.empty()) return "";
  std::string text;
  const auto numbers = [](const std::vector<double>& row) { return "{" + listed(row) + "}"; };
  for (const Keyframe& key : model.keyframes)
    text += "        " + remark(key.name) + "\n" +
            wrapped("{" + std::to_string(text_hash(key.name.c_str())) + "ull, " + numbers(key.qpos) + ", " +
                        numbers(key.qvel) + ", " + numbers(key.ctrl) + "},",
                    "        ");
  return "  static constexpr int kKeyframes = " + std::to_string(model.keyframes.size()) + ";\n" +
         emit_table("  // Hash of the name; qpos, qvel, ctrl.\n", "Keyframe<Sizes>", "keyframe", "kKeyframes", text);
}

double length(const Numbers3& x) { return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// Returns the length from a geom's centre to the end of its axis, or to the furthest point of a shape without radius.
double size_of(const PairGeom& geom) { return geom.is_turned() ? geom.bound : length(geom.half); }

// Returns the square of a distance as a float, rounded up.
std::string bound(double distance) { return number(std::ceil(1e5 * distance * distance * 1.0001) / 1e5) + "f, "; }

std::string emit_pairs(const RobotModel& model) {
  const std::vector<int> bodies = touching_bodies(model);
  const auto ground = [&](size_t p) {
    const GeomPair& pair = model.pairs[p];
    return cone_of(pair.cone) + (pair.cone.varies.empty() ? ", {-1, -1}, " : ", ") +
           std::to_string(bodies[static_cast<size_t>(body_on_ground(model, p))]) + ", " + std::to_string(p) + ", " +
           std::to_string(pair.place) +
           (model.pair_geoms[static_cast<size_t>(pair.first)].body >= 0 ? ", true" : ", false");
  };
  const bool varies = edges_vary(model);
  std::string text;
  for (size_t p = 0; p < model.pairs.size(); ++p) {
    const GeomPair& pair = model.pairs[p];
    const PairGeom &a = model.pair_geoms[static_cast<size_t>(pair.first)],
                   &b = model.pair_geoms[static_cast<size_t>(pair.second)];
    const double nearest = a.radius + b.radius + pair.margin, reach = nearest + size_of(a) + size_of(b);
    const bool is_plane = a.kind == PairGeom::plane;
    const bool are_capsules = (length(a.half) > 0 || is_plane) && length(b.half) > 0;
    text += "        " + remark(a.name + " and " + b.name) + "\n";
    text += wrapped(
        "{" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + ", " +
            (are_capsules ? "true" : "false") + ", " + std::to_string(pair.edges) + ", " +
            (is_plane ? number(std::ceil(1e5 * reach * 1.0001) / 1e5) + "f, " : bound(reach)) + bound(nearest) +
            listed({pair.margin, friction_of(pair, varies), varies ? pair.weight_without_friction : pair.weight}) +
            ", " + softness_of(pair.softness) +
            (p < model.ground_pairs                                      ? ground(p)
             : pair.cone.dimensions > (model.elliptic || varies ? 1 : 3) ? cone_of(pair.cone)
                                                                         : "") +
            "},",
        "        ");
  }
  return emit_table(
      "  // The two geoms, whether both are capsules, edges, squared bounds of distances; margin, friction, weight;\n"
      "  // stiffness, damping, impedance.\n",
      "ContactPair", "pair", "kGroundPairs + kPairs", text);
}

}  // namespace

std::string emit_table(const std::string& comment, const std::string& type, const std::string& name,
                       const std::string& size, const std::string& items) {
  return comment + "  DRL_HD static const " + type + "& " + name + "(int k) {\n    static constexpr " + type + " all[" +
         size + " + 1] = {\n" + items + "        {}};\n    return all[k];\n  }\n";
}

std::string softness_of(const Softness& s) {
  return listed({s.stiffness, s.damping, s.least, s.most, s.width, s.midpoint});
}

std::string emit_names(const RobotModel& model) {
  const auto name = [](const auto& part) { return quoted(part.name); };
  const auto list = [&](const std::string& what, const auto& parts) {
    return wrapped(table("inline constexpr const char* " + what + "_names[]", parts, "\"\"", name), "");
  };
  const auto joint = [](const Joint& j) {
    return "{" + quoted(j.name) + ", " + std::to_string(j.qpos) + ", " + std::to_string(j.dof) + "}";
  };
  return list("body", model.frames) + list("geom", model.geoms) + list("site", model.sites) +
         list("actuator", model.actuators) + emit_sensor_names(model) +
         wrapped(table("inline constexpr NamedJoint joints[]", model.joints, "", joint), "");
}

std::string emit_struct(const std::string& type, const std::vector<std::string>& numbers) {
  const std::string head = "  template <class F>\n  struct " + type + " {";
  if (numbers.empty()) return head + "};\n";
  const auto name = [](const std::string& number) { return number; };
  return head + "\n" + wrapped("F " + listed(numbers, name) + ";", "    ") + "  };\n";
}

std::string emit_sizes(const RobotModel& model, const Program& program) {
  const auto limits = limited_joints(model);
  std::string text = "struct Sizes {\n";
  const auto line = [&](const std::string& type, const std::vector<std::pair<std::string, std::string>>& values) {
    text += wrapped("static constexpr " + type + " " +
                        listed(values, [](const auto& v) { return v.first + " = " + v.second; }) + ";",
                    "  ");
  };
  const auto count = [](auto n) { return std::to_string(n); };
  line("int", {{"nq", count(model.nq)},
               {"nv", count(model.nv)},
               {"nu", count(model.actuators.size())},
               {"nbody", count(model.frames.size())},
               {"ngeom", count(model.geoms.size())},
               {"nsite", count(model.sites.size())}});
  line("double", {{"timestep", number(model.timestep)}});
  line("bool", {{"kRungeKutta", model.runge_kutta ? "true" : "false"},
                {"kImplicitDamping", model.implicit_damping ? "true" : "false"}});
  line("int", {{"kContacts", count(count_pyramids(model))},
               {"kEdges", count(program.edges)},
               {"kLimits", count(limits.size())},
               {"kTouchingBodies", count(count_numbers(touching_bodies(model)))},
               {"kTouchingFrames", count(count_numbers(touching_frames(model)))}});
  line("int", {{"kMotions", count(count_numbers(program.motion_places))},
               {"kCouplings", count(count_numbers(program.coupling_places))},
               {"kWrench", count(count_numbers(program.wrench_places))}});
  line("int", {{"kPairGeoms", count(model.pair_geoms.size())},
               {"kPairs", count(model.pairs.size() - model.ground_pairs)},
               {"kPairRows", count(model.pair_places.rows)},
               {"kTrees", count(model.trees)},
               {"kFactor", count(program.places("factor"))}});
  line("int", {{"kAxis", count(program.places("axis"))},
               {"kMass", count(program.places("mass"))},
               {"kForce", count(program.places("force"))},
               {"kFreeTurn", count(program.places("free_turn"))},
               {"kDamping", count(program.places("damping"))}});
  if (const auto frictions = frictional_dofs(model); !frictions.empty())
    line("int", {{"kFrictions", count(frictions.size())}});
  if (const int rows = count_equality_rows(model); rows > 0)
    line("int", {{"kEqualityRows", count(rows)}, {"kEqualityAlong", count(program.places("equality_along"))}});
  if (program.is_wide) text += "  static constexpr bool kWide = true;  // lanes of float compute a step in double\n";
  if (edges_vary(model)) line("bool", {{"kEdgesVary", "true"}});
  const std::vector<int> branch = branches(model);
  if (const int number = count_numbers(branch); number > 0)
    line("int", {{"kBranches", count(number)}, {"kBranchPlaces", count(program.places("branch"))}});
  for (const char* type : {"Touch", "ContactRow"}) text += emit_struct(type, program.fields(type));
  const auto dof = [](const Joint* joint) { return std::to_string(joint->dof); };
  text += emit_table("  // Indices into qvel of joints with limits, their ranges; the initial qpos.\n", "int",
                     "limited", "kLimits", limits.empty() ? "" : wrapped(listed(limits, dof) + ",", "        "));
  std::string ranges;
  for (const Joint* joint : limits)
    ranges += "        {" + number(joint->limit->low) + ", " + number(joint->limit->high) + "},\n";
  text += emit_table("", "Range", "range", "kLimits", ranges);
  text += emit_table("", "double", "qpos0", "nq", wrapped(listed(model.start, number) + ",", "        "));
  if (count_numbers(branch) > 0) text += emit_branches(model, branch);
  return text + emit_keyframes(model) + emit_cone_tables(model) + emit_frictions(model) + emit_points(model) +
         emit_pair_geoms(model) + emit_pairs(model) + "};\n";
}

}  // namespace drl::robot_compiler

#include "physics/emit_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "drl/task/abi.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"
#include "physics/stiffness.hpp"

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
  constexpr const char* kKinds[] = {"plane",    "sphere", "capsule", "ellipsoid",
                                    "cylinder", "box",    "mesh",    "height_field"};
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

// Returns the index of a tendon with rows among the accelerations along qvel and of such tendons.
int row_of_tendon(const RobotModel& model, int tendon) {
  const std::vector<int> tendons = tendons_with_rows(model);
  return model.nv + static_cast<int>(std::ranges::find(tendons, tendon) - tendons.begin());
}

std::string emit_frictions(const RobotModel& model) {
  std::string text;
  for (const int dof : frictional_dofs(model)) {
    const DryFriction& friction = *model.dofs[static_cast<size_t>(dof)].friction;
    text += "        {" + std::to_string(dof) + ", " + listed({friction.weight, friction.most}) + "},\n";
  }
  for (const int t : frictional_tendons(model)) {
    const DryFriction& friction = *model.tendons[static_cast<size_t>(t)].friction;
    text += "        {" + std::to_string(row_of_tendon(model, t)) + ", " + listed({friction.weight, friction.most}) +
            "},\n";
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
                        numbers(key.qvel) + ", " + numbers(key.ctrl) + ", " + numbers(key.act) + "},",
                    "        ");
  return "  static constexpr int kKeyframes = " + std::to_string(model.keyframes.size()) + ";\n" +
         emit_table("  // Hash of the name; qpos, qvel, ctrl, act.\n", "Keyframe<Sizes>", "keyframe", "kKeyframes",
                    text);
}

// Returns the square of a distance as a float, rounded up.
std::string bound(double distance) { return number(std::ceil(1e5 * distance * distance * 1.0001) / 1e5) + "f, "; }

// Writes the parameters of pairs.
class PairTables {
 public:
  explicit PairTables(const RobotModel& model)
      : model_(model), varies_(edges_vary(model)), bodies_(touching_bodies(model)) {}

  // Writes all parameters of each pair.
  std::string full(const std::string& name, const std::string& size, size_t count) const {
    std::string text;
    for (size_t p = 0; p < count; ++p) {
      const GeomPair& pair = model_.pairs[p];
      const PairGeom &a = geom(pair.first), &b = geom(pair.second);
      const double nearest = a.most_radius + b.most_radius + pair.margin, reach = nearest + size_of(a) + size_of(b);
      const std::string bounds = (a.kind == PairGeom::plane ? plane_bound(reach) : bound(reach)) + bound(nearest);
      text += "        " + remark(a.name + " and " + b.name) + "\n";
      text += wrapped("{" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + ", " +
                          kind(p, bounds, varies_ ? pair.weight_without_friction : pair.weight,
                               p < model_.ground_pairs ? ground(p) : "") +
                          "},",
                      "        ");
    }
    return emit_table(
        "  // The two geoms, whether both are capsules, edges, squared bounds of distances; margin, friction, weight;\n"
        "  // stiffness, damping, impedance.\n",
        "ContactPair", name, size, text);
  }
  // Writes for each pair only its geoms and its kind, and what its kind has.
  std::string compact() const {
    std::map<std::string, size_t> kinds;
    std::string pairs, of_kinds, groups, sizes, weights;
    for (size_t p = model_.ground_pairs; p < model_.pairs.size(); ++p) {
      const GeomPair& pair = model_.pairs[p];
      const auto [place, is_new] = kinds.emplace(
          kind(p, "0.0f, 0.0f, ", varies_ ? pair.relative_weight_without_friction : pair.relative_weight, ""),
          kinds.size());
      if (is_new) of_kinds += wrapped("{0, 0, " + place->first + "},", "        ");
      pairs += "{" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + ", " +
               std::to_string(place->second) + "}, ";
    }
    for (const PairGroup& group : model_.pair_groups)
      groups += "        {" + std::to_string(group.first) + ", " + std::to_string(group.second) + ", " +
                // Rounding of the positions in float must not part pairs that touch.
                (geom(group.first).kind == PairGeom::plane ? plane_bound : bound)(1.001 * group.reach + 1e-4) +
                std::to_string(group.end) + "},\n";
    std::string still;
    int count = 0;
    for (size_t g = 0; g < model_.pair_geoms.size(); ++g)
      if (const PairGeom& here = model_.pair_geoms[g]; here.body < 0) {
        const auto row = [](const Numbers3& x) { return "{" + listed({x[0], x[1], x[2]}) + "}"; };
        still += wrapped("{" + std::to_string(g) + ", " + row(here.center) + ", " + row(here.half) + ", {" +
                             row(here.turn[0]) + ", " + row(here.turn[1]) + ", " + row(here.turn[2]) + "}},",
                         "        ");
        count += 1;
      }
    for (const PairGeom& g : model_.pair_geoms)
      sizes += number(g.most_radius + size_of(g)) + ", ", weights += number(g.inverse_weight) + ", ";
    const std::string ground =
        model_.ground_pairs > 0 ? full("ground_pair", "kGroundPairs", model_.ground_pairs) : std::string();
    return "  static constexpr int kPairGroups = " + std::to_string(model_.pair_groups.size()) + ";\n" + ground +
           emit_table("  // The two geoms and the kind of each other pair.\n", "CompactPair", "compact_pair", "kPairs",
                      wrapped(pairs, "        ")) +
           emit_table("  // Kinds of pairs, in place of geoms and bounds 0.\n", "ContactPair", "pair_kind",
                      std::to_string(kinds.size()), of_kinds) +
           emit_table(
               "  // Groups of them: two geoms, squared distance of their centres, where the next group begins.\n",
               "PairGroup", "pair_group", "kPairGroups", groups) +
           emit_table("  // Radii of spheres around geoms.\n", "double", "pair_geom_bound", "kPairGeoms",
                      wrapped(sizes, "        ")) +
           emit_table("  // Inverse weights of geoms' bodies.\n", "double", "pair_geom_weight", "kPairGeoms",
                      wrapped(weights, "        ")) +
           "  static constexpr int kStillGeoms = " + std::to_string(count) + ";\n" +
           emit_table("  // Geoms of the world: index, centre, half axis, axes.\n", "StillGeom", "still_geom",
                      "kStillGeoms", still) +
           "  DRL_HD static ContactPair pair(int k) { return assemble_pair<Sizes>(k); }\n";
  }

 private:
  const PairGeom& geom(int g) const { return model_.pair_geoms[static_cast<size_t>(g)]; }
  static std::string plane_bound(double reach) { return number(std::ceil(1e5 * reach * 1.0001) / 1e5) + "f, "; }
  // Returns the numbers of a row after the indices of its two geoms.
  std::string kind(size_t p, const std::string& bounds, double weight, const std::string& of_ground) const {
    const GeomPair& pair = model_.pairs[p];
    const PairGeom &a = geom(pair.first), &b = geom(pair.second);
    const auto is_long = [](const PairGeom& g) { return g.kind == PairGeom::capsule && size_of(g) > 0; };
    const bool has_no_sphere = (is_long(a) || a.kind == PairGeom::plane) && is_long(b);
    const bool has_cone = pair.cone.dimensions > (model_.elliptic || varies_ ? 1 : 3);
    return (has_no_sphere ? "true, " : "false, ") + std::to_string(pair.edges) + ", " + bounds +
           listed({pair.margin, friction_of(pair, varies_), weight}) + ", " + softness_of(pair.softness) +
           (!of_ground.empty() ? of_ground + rest_of(pair)
            : has_rest(pair)   ? cone_of(pair.cone) + without_ground(pair) + rest_of(pair)
            : has_cone         ? cone_of(pair.cone)
                               : "");
  }
  // The last members of ContactPair, which few pairs have.
  static bool has_rest(const GeomPair& pair) {
    return pair.cone.second_sliding > 0 || pair.cone.second_rolling > 0 || pair.friction_damping >= 0 ||
           pair.gap != 0 || pair.adhesions != 0;
  }
  static std::string without_ground(const GeomPair& pair) {
    return std::string(pair.cone.varies.empty() ? ", {-1, -1}" : "") + ", -1, 0, 0, false, 0";
  }
  static std::string rest_of(const GeomPair& pair) {
    return !has_rest(pair)
               ? ""
               : ", " + listed({pair.cone.second_sliding, pair.cone.second_rolling, pair.friction_damping, pair.gap}) +
                     ", " + std::to_string(pair.adhesions) + "u";
  }
  std::string ground(size_t p) const {
    const GeomPair& pair = model_.pairs[p];
    return cone_of(pair.cone) + (pair.cone.varies.empty() ? ", {-1, -1}, " : ", ") +
           std::to_string(bodies_[static_cast<size_t>(body_on_ground(model_, p))]) + ", " + std::to_string(p) + ", " +
           std::to_string(pair.place) + (geom(pair.first).body >= 0 ? ", true" : ", false") +
           (pair.places > 0 || has_rest(pair) ? ", " + std::to_string(pair.places) : "");
  }

  const RobotModel& model_;
  bool varies_;
  std::vector<int> bodies_;
};

std::string emit_pairs(const RobotModel& model) {
  const PairTables tables(model);
  return model.pair_groups.empty() ? tables.full("pair", "kGroundPairs + kPairs", model.pairs.size())
                                   : tables.compact();
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

std::string emit_struct(const std::string& type, const std::vector<std::string>& numbers) {
  const std::string head = "  template <class F>\n  struct " + type + " {";
  if (numbers.empty()) return head + "};\n";
  const auto name = [](const std::string& number) { return number; };
  return head + "\n" + wrapped("F " + listed(numbers, name) + ";", "    ") + "  };\n";
}

std::string emit_sizes(const RobotModel& model, const Program& program) {
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
               {"kLimits", count(count_limits(model))},
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
  if (const int frictions = count_frictions(model); frictions > 0) line("int", {{"kFrictions", count(frictions)}});
  if (const auto tendons = tendons_with_rows(model); !tendons.empty())
    line("int", {{"kTendons", count(tendons.size())}, {"kTendonAlong", count(program.places("tendon_along"))}});
  if (const int rows = count_equality_rows(model); rows > 0)
    line("int", {{"kEqualityRows", count(rows)}, {"kEqualityAlong", count(program.places("equality_along"))}});
  const std::pair<const char*, bool> flags[] = {{"kSensesLengths", senses_lengths(model)},
                                                {"kSensesActuators", senses_actuators(model)},
                                                {"kSensesAccelerations", senses_accelerations(model)},
                                                {"kSensesLoads", senses_loads(model)},
                                                {"kSensesLimits", senses(model, &Sensor::shows_limit)},
                                                {"kSensesLimitForces", senses(model, Sensor::limit_force)},
                                                {"kSensesEnergies", senses(model, &Sensor::shows_energy)},
                                                {"kSensesTime", senses(model, Sensor::time)}};
  for (const auto& [name, is_so] : flags)
    if (is_so) line("bool", {{name, "true"}});
  if (model.na > 0) line("int", {{"kActivations", count(model.na)}});
  if (program.is_wide) text += "  static constexpr bool kWide = true;  // lanes of float compute a step in double\n";
  if (model.noslip) {
    line("int", {{"kNoslipIterations", count(model.noslip->iterations)},
                 {"kNoslipDirections", count(most_friction_directions(model))}});
    line("double", {{"kNoslipTolerance", number(model.noslip->tolerance)}});
    if (!is_stiff(model)) line("bool", {{"kWideForNoslip", "true"}});
  }
  if (edges_vary(model)) line("bool", {{"kEdgesVary", "true"}});
  if (const size_t actuators = adhesions(model).size(); actuators > 0) line("int", {{"kAdhesions", count(actuators)}});
  if (remembers_pairs(model)) line("bool", {{"kRemembersPairs", "true"}});
  if (std::ranges::any_of(model.pairs, [](const GeomPair& pair) { return pair.gap != 0; }))
    line("bool", {{"kHasGaps", "true"}});
  const std::vector<int> branch = branches(model);
  if (const int number = count_numbers(branch); number > 0)
    line("int", {{"kBranches", count(number)}, {"kBranchPlaces", count(program.places("branch"))}});
  for (const char* type : {"Touch", "ContactRow"}) text += emit_struct(type, program.fields(type));
  std::vector<int> limited;
  std::string ranges;
  const auto add_limit = [&](int index, const Limit& limit) {
    limited.push_back(index);
    ranges += "        {" + number(limit.low) + ", " + number(limit.high) + "},\n";
  };
  for (const Joint* joint : limited_joints(model)) add_limit(joint->dof, *joint->limit);
  for (const int t : limited_tendons(model))
    add_limit(row_of_tendon(model, t), *model.tendons[static_cast<size_t>(t)].limit);
  const auto text_of = [](int index) { return std::to_string(index); };
  text += emit_table(
      "  // Limits: indices into qvel, or nv plus the index of a tendon or ball with rows; their ranges; the initial "
      "qpos.\n",
      "int", "limited", "kLimits", limited.empty() ? "" : wrapped(listed(limited, text_of) + ",", "        "));
  text += emit_table("", "Range", "range", "kLimits", ranges);
  text += emit_table("", "double", "qpos0", "nq", wrapped(listed(model.start, number) + ",", "        "));
  if (count_numbers(branch) > 0) text += emit_branches(model, branch);
  return text + emit_keyframes(model) + emit_cone_tables(model) + emit_trees(model) +
         (program.loops_over_bodies ? emit_bodies(model) : "") + emit_frictions(model) + emit_points(model) +
         emit_pair_geoms(model) + emit_pairs(model) + "};\n";
}

}  // namespace drl::robot_compiler

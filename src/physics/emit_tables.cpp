#include "physics/emit_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include "drl/physics/mujoco_version.hpp"
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
  Table table("Body, frame, radius, height of the plane, margin, friction, weight; stiffness, damping, impedance.",
              "ContactPoint", "point", "kContacts");
  for (const FloorContact& c : model.elliptic ? std::vector<FloorContact>{} : model.contacts)
    table.name(c.name).add(bodies[c.body], frames[c.frame], c.radius, c.height, c.margin, friction_of(c, varies),
                           varies ? c.weight_without_friction : c.weight,
                           softness_of(c.softness) + (varies ? varies_of(c.cone) : ""));
  return table.text();
}

// Returns the degrees of freedom from `first` to first + 63 that move a body, as bits.
std::string moved_by(const RobotModel& model, int body, size_t first) {
  uint64_t bits = 0;
  for (; body >= 0; body = model.bodies[body].parent)
    for (size_t i = 0; i < model.dofs.size(); ++i)
      if (model.dofs[i].body == body && i / 64 == first / 64) bits |= uint64_t{1} << i % 64;
  char text[20];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

std::string emit_pair_geoms(const RobotModel& model) {
  const std::vector<int> frames = touching_frames(model);
  const bool has_more_bits = model.nv > 64;
  Table table("Frame, tree, bits of the qvel that move it, radius; place of its axes, kind, size, hull, more bits.",
              "PairGeom", "pair_geom", "kPairGeoms");
  int turned = 0;
  for (const PairGeom& r : model.pair_geoms) {
    const int tree = r.body < 0 ? 0 : model.bodies[r.body].tree;
    std::string rest;
    if (r.is_turned() || has_more_bits)
      rest += ", " + joined(r.is_turned() ? turned++ : -1, name_of(r.kind), r.size, r.extent, r.hull);
    if (has_more_bits)
      rest += ", " + braced(moved_by(model, r.body, 64), moved_by(model, r.body, 128), moved_by(model, r.body, 192));
    table.name(r.name).add(frames[r.frame], tree, moved_by(model, r.body, 0), number(r.radius) + rest);
  }
  return table.text();
}

// Writes the chains of Newton's matrix.
std::string emit_chains(const RobotModel& model) {
  const std::vector<int> of_dof = chains(model);
  std::vector<int> first, parent;
  for (size_t i = 0; i < of_dof.size(); ++i) {
    if (i > 0 && of_dof[i] == of_dof[i - 1]) continue;
    const std::vector<int>& ancestors = model.dofs[i].ancestors;
    first.push_back(static_cast<int>(i)), parent.push_back(ancestors.empty() ? -1 : of_dof[ancestors[0]]);
  }
  first.push_back(model.nv);
  return constants("int", {{"kChains", parent.size()},
                           {"kPairContacts", model.pair_places.contacts},
                           {"kPairDimensions", pair_dimensions(model)},
                           {"kPairColumns", pair_columns(model)}}) +
         "  static constexpr int kChainFirst[] = " + in_cpp(first) + ";\n" +
         Table("Where chains begin; the chain above each of them; the chain of each degree of freedom.", "int",
               "chain_first", "kChains + 1")
             .add_all(first)
             .text() +
         Table("", "int", "chain_parent", "kChains").add_all(parent).text() +
         Table("", "int", "chain_of", "nv").add_all(of_dof).text();
}

// Returns the index of a tendon with rows among the accelerations along qvel and of such tendons.
int row_of_tendon(const RobotModel& model, int tendon) {
  const std::vector<int> tendons = tendons_with_rows(model);
  return model.nv + static_cast<int>(std::ranges::find(tendons, tendon) - tendons.begin());
}

std::string emit_frictions(const RobotModel& model) {
  Table table("Index into qvel, weight, largest force.", "DryFriction", "friction", "kFrictions");
  const auto add = [&](int row, const DryFriction& friction) { table.add(row, friction.weight, friction.most); };
  for (const int dof : frictional_dofs(model)) add(dof, *model.dofs[dof].friction);
  for (const int t : frictional_tendons(model)) add(row_of_tendon(model, t), *model.tendons[t].friction);
  return table.text_unless_empty();
}

// Keyframes have hashes of their names, because GPU code has no tables of texts.
std::string emit_keyframes(const RobotModel& model) {
  if (model.keyframes.empty()) return "";
  Table table("Hash of the name; qpos, qvel, ctrl, act.", "Keyframe<Sizes>", "keyframe", "kKeyframes");
  for (const Keyframe& key : model.keyframes)
    table.name(key.name).add(in_cpp(text_hash(key.name.c_str())) + "ull", key.qpos, key.qvel, key.ctrl, key.act);
  return constants("int", {{"kKeyframes", table.size()}}) + table.text();
}

// Returns the square of a distance as a float, rounded up.
std::string bound(double distance) { return number(std::ceil(1e5 * distance * distance * 1.0001) / 1e5) + "f"; }

// Writes the parameters of pairs.
class PairTables {
 public:
  explicit PairTables(const RobotModel& model)
      : model_(model), varies_(edges_vary(model)), bodies_(touching_bodies(model)) {}

  // Writes all parameters of each pair.
  std::string full(const std::string& name, const std::string& size, size_t count) const {
    Table table(
        "The two geoms, whether both are capsules, edges, squared bounds of distances; margin, friction, weight;\n"
        "stiffness, damping, impedance.",
        "ContactPair", name, size);
    for (size_t p = 0; p < count; ++p) {
      const GeomPair& pair = model_.pairs[p];
      const PairGeom &a = geom(pair.first), &b = geom(pair.second);
      const double nearest = a.radius + b.radius + pair.margin, reach = nearest + size_of(a) + size_of(b);
      const std::string bounds = joined(a.kind == PairGeom::plane ? plane_bound(reach) : bound(reach), bound(nearest));
      table.name(a.name + " and " + b.name)
          .add(pair.first, pair.second,
               kind(p, bounds, varies_ ? pair.weight_without_friction : pair.weight,
                    p < model_.ground_pairs ? ground(p) : ""));
    }
    return table.text();
  }
  // Writes for each pair only its geoms and its kind, and what its kind has.
  std::string compact() const {
    std::map<std::string, size_t> numbers;  // of kinds
    std::vector<std::string> pairs;
    std::vector<double> bounds, weights;
    std::vector<std::string> kinds;
    for (size_t p = model_.ground_pairs; p < model_.pairs.size(); ++p) {
      const GeomPair& pair = model_.pairs[p];
      const auto [place, is_new] = numbers.emplace(
          kind(p, "0.0f, 0.0f", varies_ ? pair.relative_weight_without_friction : pair.relative_weight, ""),
          numbers.size());
      if (is_new) kinds.push_back(place->first);
      pairs.push_back(braced(pair.first, pair.second, place->second));
    }
    Table of_kinds("Kinds of pairs, in place of geoms and bounds 0.", "ContactPair", "pair_kind", in_cpp(kinds.size()));
    for (const std::string& kind : kinds) of_kinds.add(0, 0, kind);
    Table groups("Groups of them: two geoms, squared distance of their centres, where the next group begins.",
                 "PairGroup", "pair_group", "kPairGroups");
    for (const PairGroup& group : model_.pair_groups)
      groups.add(group.first, group.second,
                 // Rounding of the positions in float must not part pairs that touch.
                 (geom(group.first).kind == PairGeom::plane ? plane_bound : bound)(1.001 * group.reach + 1e-4),
                 group.end);
    Table still("Geoms of the world: index, centre, half axis, axes.", "StillGeom", "still_geom", "kStillGeoms");
    for (size_t g = 0; g < model_.pair_geoms.size(); ++g)
      if (const PairGeom& here = model_.pair_geoms[g]; here.body < 0) still.add(g, here.center, here.half, here.turn);
    for (const PairGeom& g : model_.pair_geoms)
      bounds.push_back(g.radius + size_of(g)), weights.push_back(g.inverse_weight);
    return constants("int", {{"kPairGroups", groups.size()}}) +
           (model_.ground_pairs > 0 ? full("ground_pair", "kGroundPairs", model_.ground_pairs) : "") +
           Table("The two geoms and the kind of each other pair.", "CompactPair", "compact_pair", "kPairs")
               .add_all(pairs)
               .text() +
           of_kinds.text() + groups.text() +
           Table("Radii of spheres around geoms.", "double", "pair_geom_bound", "kPairGeoms").add_all(bounds).text() +
           Table("Inverse weights of geoms' bodies.", "double", "pair_geom_weight", "kPairGeoms")
               .add_all(weights)
               .text() +
           constants("int", {{"kStillGeoms", still.size()}}) + still.text() +
           "  DRL_HD static ContactPair pair(int k) { return assemble_pair<Sizes>(k); }\n";
  }

 private:
  const PairGeom& geom(int g) const { return model_.pair_geoms[g]; }
  static std::string plane_bound(double reach) { return number(std::ceil(1e5 * reach * 1.0001) / 1e5) + "f"; }
  // Returns the numbers of a row after the indices of its two geoms.
  std::string kind(size_t p, const std::string& bounds, double weight, const std::string& of_ground) const {
    const GeomPair& pair = model_.pairs[p];
    const PairGeom &a = geom(pair.first), &b = geom(pair.second);
    const auto is_long = [](const PairGeom& g) { return g.kind == PairGeom::capsule && size_of(g) > 0; };
    const bool has_no_sphere = (is_long(a) || a.kind == PairGeom::plane) && is_long(b);
    const bool has_cone = pair.cone.dimensions > (model_.elliptic || varies_ ? 1 : 3);
    return joined(has_no_sphere, pair.edges, bounds, pair.margin, friction_of(pair, varies_), weight,
                  softness_of(pair.softness)) +
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
    if (!has_rest(pair)) return "";
    return ", " + joined(pair.cone.second_sliding, pair.cone.second_rolling, pair.friction_damping, pair.gap,
                         in_cpp(pair.adhesions) + "u");
  }
  std::string ground(size_t p) const {
    const GeomPair& pair = model_.pairs[p];
    return cone_of(pair.cone) + (pair.cone.varies.empty() ? ", {-1, -1}, " : ", ") +
           joined(bodies_[body_on_ground(model_, p)], p, pair.place, geom(pair.first).body >= 0) +
           (pair.places > 0 || has_rest(pair) ? ", " + in_cpp(pair.places) : "");
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

std::string emit_struct(const std::string& type, const std::vector<std::string>& numbers) {
  const std::string head = "  template <class F>\n  struct " + type + " {";
  if (numbers.empty()) return head + "};\n";
  const auto name = [](const std::string& number) { return number; };
  return head + "\n" + wrapped("F " + listed(numbers, name) + ";", "    ") + "  };\n";
}

// Returns the root mean square of the distances at which the pairs but for those with the ground or with planes are
// near, 0 without any.
double mean_reach(const RobotModel& model) {
  double squares = 0;
  int count = 0;
  for (size_t p = model.ground_pairs; p < model.pairs.size(); ++p) {
    const GeomPair& pair = model.pairs[p];
    const PairGeom &a = model.pair_geoms[pair.first], &b = model.pair_geoms[pair.second];
    if (a.kind == PairGeom::plane) continue;
    const double reach = a.radius + size_of(a) + b.radius + size_of(b) + pair.margin;
    squares += reach * reach, ++count;
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

// Writes the sizes that all robots have.
std::string emit_counts(const RobotModel& model, const Program& program) {
  return constants("int", {{"nq", model.nq},
                           {"nv", model.nv},
                           {"nu", model.actuators.size()},
                           {"nbody", model.frames.size()},
                           {"ngeom", model.geoms.size()},
                           {"nsite", model.sites.size()}}) +
         constants("double", {{"timestep", model.timestep}, {"kMeanReach", mean_reach(model)}}) +
         constants("bool", {{"kRungeKutta", model.runge_kutta}, {"kImplicitDamping", model.implicit_damping}}) +
         constants("int", {{"kContacts", count_pyramids(model)},
                           {"kEdges", program.edges},
                           {"kLimits", count_limits(model)},
                           {"kTouchingBodies", count_numbers(touching_bodies(model))},
                           {"kTouchingFrames", count_numbers(touching_frames(model))}}) +
         constants("int", {{"kMotions", count_numbers(program.motion_places)},
                           {"kCouplings", count_numbers(program.coupling_places)},
                           {"kWrench", count_numbers(program.wrench_places)}}) +
         constants("int", {{"kPairGeoms", model.pair_geoms.size()},
                           {"kPairs", model.pairs.size() - model.ground_pairs},
                           {"kTrees", model.trees}}) +
         constants("int", {{"kAxis", program.places("axis")},
                           {"kMass", program.places("mass")},
                           {"kForce", program.places("force")},
                           {"kFreeTurn", program.places("free_turn")},
                           {"kDamping", program.places("damping")}});
}
// Writes those that differ from DefaultSizes (drl/physics/sizes.hpp).
std::string emit_rare_sizes(const RobotModel& model, const Program& program) {
  std::string text;
  const auto flag = [&](const char* name, bool is_so) { text += is_so ? constants("bool", {{name, true}}) : ""; };
  const auto size = [&](const char* name, auto n) { text += n > 0 ? constants("int", {{name, n}}) : ""; };
  flag("kTurnsStages", model.turns_stages);
  flag("kKeepsMeanAcceleration", model.runge_kutta && mujoco::kRungeKuttaKeepsTheMean);
  size("kFrictions", count_frictions(model));
  size("kTendons", tendons_with_rows(model).size()), size("kTendonAlong", program.places("tendon_along"));
  size("kEqualityRows", count_equality_rows(model)), size("kEqualityAlong", program.places("equality_along"));
  flag("kSensesLengths", senses(model, &Sensor::shows_length));
  flag("kSensesActuators", senses(model, &Sensor::shows_actuators));
  flag("kSensesAccelerations", senses(model, &Sensor::shows_acceleration));
  flag("kSensesLoads", senses(model, &Sensor::shows_load));
  flag("kSensesLimits", senses(model, &Sensor::shows_limit));
  flag("kSensesLimitForces", senses(model, Sensor::limit_force));
  flag("kSensesEnergies", senses(model, &Sensor::shows_energy));
  flag("kSensesTime", senses(model, Sensor::time));
  size("kActivations", model.na);
  flag("kWide", program.is_wide), flag("kStiff", model.float_trial && !program.is_wide);
  if (const std::vector<double> deepest = deepest_contacts(model); !deepest.empty()) {
    flag("kStiffer", true);
    text +=
        Table("Distances of points from the floor and of pairs, below which they are stiffer than in random motion.",
              "double", "deepest", in_cpp(deepest.size()))
            .add_all(deepest)
            .text();
  }
  if (model.noslip) {
    text += constants("int", {{"kNoslipIterations", model.noslip->iterations},
                              {"kNoslipDirections", most_friction_directions(model)}}) +
            constants("double", {{"kNoslipTolerance", model.noslip->tolerance}});
    flag("kWideForNoslip", !is_stiff(model)), flag("kNoslipUsesTrace", mujoco::kNoslipUsesTrace);
  }
  flag("kEmptyNetsAreZero", mujoco::kNoContactsHaveNoNormal && !model.contact_sensors.empty());
  flag("kExactDistances", has_exact_distances(model));
  flag("kEdgesVary", edges_vary(model));
  size("kAdhesions", adhesions(model).size());
  flag("kRemembersPairs", remembers_pairs(model));
  flag("kHasGaps", std::ranges::any_of(model.pairs, [](const GeomPair& pair) { return pair.gap != 0; }));
  flag("kSensesGaps", senses_gaps(model));
  return text;
}
std::string emit_limits(const RobotModel& model) {
  std::vector<int> limited;
  Table ranges("", "Range", "range", "kLimits");
  const auto add = [&](int index, const Limit& limit) { limited.push_back(index), ranges.add(limit.low, limit.high); };
  for (const Joint* joint : limited_joints(model)) add(joint->dof, *joint->limit);
  for (const int t : limited_tendons(model)) add(row_of_tendon(model, t), *model.tendons[t].limit);
  return Table(
             "Limits: indices into qvel, or nv plus the index of a tendon or ball with rows; their ranges; the initial "
             "qpos.",
             "int", "limited", "kLimits")
             .add_all(limited)
             .text() +
         ranges.text();
}

}  // namespace

std::string emit_sizes(const RobotModel& model, const Program& program) {
  std::string text = "struct Sizes : DefaultSizes {\n" + emit_counts(model, program) + emit_rare_sizes(model, program);
  for (const char* type : {"Touch", "ContactRow"}) text += emit_struct(type, program.fields(type));
  text += emit_limits(model) + Table("", "double", "qpos0", "nq").add_all(model.start).text();
  if (has_rows_of_pairs(model) || model.noslip) text += emit_chains(model);
  return text + emit_keyframes(model) + emit_cone_tables(model) + emit_trees(model) +
         (program.loops_over_bodies ? emit_bodies(model) : "") + emit_frictions(model) + emit_points(model) +
         emit_pair_geoms(model) + emit_pairs(model) + "};\n";
}

std::string softness_of(const Softness& s) {
  return joined(s.stiffness, s.damping, s.least, s.most, s.width, s.midpoint);
}

}  // namespace drl::robot_compiler

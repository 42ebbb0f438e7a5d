#include <algorithm>
#include <array>

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// The distance of a corner that does not touch.
constexpr double kFarAway = 1e10;

// Returns MuJoCo's first tangent: along a capsule, or y for a sphere.
Vec3 tangent_of(const FloorContact& contact, const Kinematics& kinematics) {
  return contact.axis ? kinematics.turn[contact.body] * known(*contact.axis) : unit_vector(1);
}
// Returns the number of distinct edges of a friction pyramid. If the robot moves in a plane, the two edges
// perpendicular to the plane are merged into one with twice the weight, unless a capsule is oblique to the plane or a
// sensor shows a contact's axes.
int edges_of(const RobotModel& model, const Kinematics& kinematics) {
  const bool moves_in_plane = std::ranges::all_of(
      kinematics.axis, [](const Spatial& s) { return s.angular[0].is(0) && s.angular[2].is(0) && s.linear[1].is(0); });
  if (!moves_in_plane || senses_axes(model)) return 4;
  const bool is_planar = std::ranges::all_of(model.contacts, [&](const FloorContact& contact) {
    const Vec3 tangent = tangent_of(contact, kinematics);
    return tangent[1].is(0) || (tangent[0].is(0) && tangent[2].is(0));
  });
  return is_planar ? 3 : 4;
}

// Returns the component of force and the component of motion that term k of a body's Coupling (trace_constraints.cpp)
// connects.
std::array<int, 2> components_of_coupling(int k) {
  constexpr std::array<int, 2> kSymmetric[] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  if (k < 6) return kSymmetric[k];
  if (k < 15) return {(k - 6) / 3, 3 + (k - 6) % 3};
  if (k < 21) return {3 + kSymmetric[k - 15][0], 3 + kSymmetric[k - 15][1]};
  return {k - 21, k - 21};
}
// Chooses the components of motion that are stored for each body: those that its degrees of freedom can move. With
// elliptic cones, all components are stored.
void place_components(const RobotModel& model, const std::vector<Spatial>& axis, Program& p) {
  std::vector<bool> moves(6, model.elliptic || model.ground_pairs > 0), couples;
  for (const Spatial& a : axis)
    for (int k = 0; k < 6; ++k)
      if (!a[k].is(0)) moves[k] = true;
  for (int k = 0; k < kCouplings; ++k)
    couples.push_back(std::ranges::all_of(components_of_coupling(k), [&](int c) { return moves[c]; }));
  p.motion_places = numbered(moves), p.coupling_places = numbered(couples);
}

// Returns the ratio of the inverse weight of a tendon's rows, or of the limit of a ball, to that of the file.
Expr weight_ratio_of_tendon(const RobotModel& model, int t, Program& p) {
  const int ball = model.tendons[t].ball;
  return ball < 0 ? constant_ratio(model, DerivedConstants::tendon, t, p)
                  : constant_ratio(model, DerivedConstants::dof, model.joints[ball].dof, p);
}

// Writes a row for each joint or tendon with limits, for the nearer limit: residual = sign acceleration + rest. The row
// is active if the residual is negative.
void trace_limits(const RobotModel& model, const Kinematics& kinematics, Program& p) {
  int number = 0;
  const auto add = [&](const Limit& limit, const std::array<Expr, 2>& range, const std::string& name,
                       const Expr& position, const Expr& velocity, const Expr& inverse_weight) {
    const auto& [low, high] = range;
    const Expr above = position - low, below = high - position;
    const Expr sign = p.named(select_less(above, below, 1, -1), name + "_limit_sign");
    const Expr distance = p.named(min(above, below), name + "_limit_distance"), x = distance - Expr(limit.margin);
    const Softness& s = limit.softness;
    const Expr d = p.named(impedance({s.least, s.most, s.width, s.midpoint, s.power}, x), name + "_limit_impedance");
    const Expr weight = d / ((Expr(1) - d) * inverse_weight);
    p.set(at("w.weight", count_pyramids(model) + number), select_less(distance, limit.margin, weight, 0));
    p.set(at("w.limit_sign", number), sign);
    p.set(at("w.limit_rest", number), Expr(s.damping) * (sign * velocity) + Expr(s.stiffness) * (d * x));
    number += 1;
  };
  for (const Joint* joint : limited_joints(model)) {
    const int dof = joint->dof;
    add(*joint->limit, range_of(model, *joint, p), identifier(joint->name), p.input(at("qpos", joint->qpos), ""),
        kinematics.qvel[dof],
        Expr(model.dofs[dof].inverse_weight) * constant_ratio(model, DerivedConstants::dof, dof, p));
  }
  for (const int t : limited_tendons(model)) {
    const Tendon& tendon = model.tendons[t];
    const TendonPath path = trace_tendon(model, t, kinematics, p);
    add(*tendon.limit, {tendon.limit->low, tendon.limit->high}, identifier(tendon.name) + "_tendon", path.length,
        path.velocity, Expr(tendon.inverse_weight) * weight_ratio_of_tendon(model, t, p));
  }
}

// Returns the expression that a loop over `values` uses. If all values are the same known number, it is this number.
// Otherwise the function stores each value in its place, and the expression reads `read`.
Expr common(Program& p, const std::vector<Expr>& values, const std::vector<std::string>& places,
            const std::string& read, const std::string& name, bool is_always_read) {
  if (values.empty()) return 0;
  const bool is_one =
      !is_always_read && std::ranges::all_of(values, [&](const Expr& x) { return x.is_known() && x == values[0]; });
  if (is_one) return values[0];
  for (size_t k = 0; k < values.size(); ++k) p.set(places[k], values[k]);
  return p.input(read, name);
}

// Writes a row for each degree of freedom and each tendon with dry friction: residual = acceleration + rest. For
// degrees of freedom it is in the axes of qvel.
void trace_frictions(const RobotModel& model, const Kinematics& kinematics, Program& p) {
  int number = 0;
  for (const int dof : frictional_dofs(model)) {
    const Expr damping = model.dofs[dof].friction->damping;
    p.set(at("w.friction", number++) + ".rest", damping * p.input(at("qvel", dof), ""));
  }
  for (const int t : frictional_tendons(model))
    p.set(at("w.friction", number++) + ".rest",
          Expr(model.tendons[t].friction->damping) * trace_tendon(model, t, kinematics, p).velocity);
}

// Returns the centre of a contact's sphere, or a box's corner. Below the centre of a sphere that has grown by d, it is
// d deeper: a sphere of the file's radius there has the same lowest point.
Vec3 center_of(const RobotModel& model, const FloorContact& contact, const Kinematics& kinematics, Program& p) {
  const Expr all = parameter(model, ModelParameter::size, contact.geom, 1, p);
  const Expr factor = parameter(model, ModelParameter::size, contact.geom, 0, p) * all;
  if (factor.is_known()) return kinematics.point(contact.body, known(contact.center));
  const Vec3 middle = known(model.geoms[contact.geom].pos);
  const Vec3 center = kinematics.point(contact.body, middle + all * (known(contact.center) - middle));
  if (contact.radius == 0) return center;
  return center - Vec3{0, 0, Expr(contact.radius) * (factor - Expr(1))};
}
// Returns the distance from the floor. A box's corner that is above the box's centre does not touch.
Expr distance_of(const RobotModel& model, const FloorContact& contact, const Vec3& center,
                 const Kinematics& kinematics) {
  const Expr height = kinematics.origin[model.bodies[contact.body].tree][2];
  const Expr distance = height + center[2] - Expr(contact.radius + contact.height);
  if (!contact.corner) return distance;
  return select_less(0, (kinematics.turn[contact.body] * known(*contact.corner))[2], kFarAway, distance);
}

void trace_touches(const RobotModel& model, const Kinematics& kinematics, Kept& kept, Program& p) {
  std::vector<Vec3> centers;
  std::vector<Expr> distances, along[2];
  std::vector<std::string> touches;
  const bool is_planar = p.edges == 3;
  for (size_t c = 0; c < model.contacts.size(); ++c) {
    const FloorContact& contact = model.contacts[c];
    const std::string name = identifier(contact.name);
    centers.push_back(p.named(center_of(model, contact, kinematics, p), name));
    distances.push_back(p.named(distance_of(model, contact, centers[c], kinematics), name + "_distance"));
    const Vec3 tangent = model.elliptic ? unit_vector(1) : tangent_of(contact, kinematics);
    along[0].push_back(is_planar ? Expr(1) : tangent[0]), along[1].push_back(is_planar ? Expr(0) : tangent[1]);
    touches.push_back(at("w.contact", c) + ".touch");
  }
  const auto field = [&](const std::vector<Expr>& values, const std::string& name, bool is_always_read = false) {
    std::vector<std::string> places;
    for (const std::string& touch : touches) places.push_back(touch + "." + name);
    const Expr read = common(p, values, places, "touch." + name, name, model.elliptic || is_always_read);
    if (!read.is_known()) p.add_field("Touch", name);
    return read;
  };
  for (int k = 0; k < 3; ++k) {
    std::vector<Expr> values;
    for (const Vec3& center : centers) values.push_back(center[k]);
    kept.center[k] = field(values, std::string("center_") + "xyz"[k]);
  }
  if (has_exact_distances(model))
    p.add_field("Touch", "distance"), kept.distance = p.input("touch.distance", "distance");  // from trace_distances()
  else
    kept.distance = field(distances, "distance", true);  // the solver reads it (drl/physics/rows.hpp)
  if (!model.elliptic) kept.along_x = field(along[0], "along_x"), kept.along_y = field(along[1], "along_y");

  const std::vector<int> bodies = touching_bodies(model);
  for (int k = 0; k < 6; ++k) {
    std::vector<Expr> values;
    std::vector<std::string> places;
    const int place = p.motion_places[k];
    for (size_t b = 0; b < bodies.size() && place >= 0; ++b)
      if (bodies[b] >= 0)
        values.push_back(kinematics.velocity[b][k]), places.push_back(at(at("w.body", bodies[b]) + ".motion", place));
    kept.velocity[k] =
        common(p, values, places, at("velocity", place), std::string("velocity_") + "wwwvvv"[k] + "xyzxyz"[k],
               model.elliptic || model.ground_pairs > 0);
  }
}

// Writes the centres of the geoms of pairs, relative to the first tree's origin, their half axes, and the offsets
// between trees. If pairs are in groups, geoms of the world are in a table instead, since there may be thousands.
void trace_pair_geoms(const RobotModel& model, const Kinematics& kinematics, Program& p) {
  const Vec3 first = kinematics.origin[0];
  for (size_t t = 1; t < kinematics.origin.size(); ++t) p.set(at("w.tree_offset", t), first - kinematics.origin[t]);
  const bool has_table = !model.pair_groups.empty();
  if (has_table) p.set("w.origin", first);
  if (p.loops_over_bodies)
    return p.after("place_geoms<Physics>(bodies, w);", 40 * static_cast<int>(model.pair_geoms.size()));
  int turned = 0;
  for (size_t r = 0; r < model.pair_geoms.size(); ++r) {
    const PairGeom& geom = model.pair_geoms[r];
    if (has_table && geom.body < 0) {
      turned += geom.is_turned() ? 1 : 0;
      continue;
    }
    const std::string name = identifier(geom.name), place = at("w.geom_axis", r);
    Vec3 center = known(geom.center) - first, half = known(geom.half);
    if (geom.kind == PairGeom::capsule) half = parameter(model, ModelParameter::size, geom.geom, 1, p) * half;
    if (geom.body >= 0) {
      center =
          kinematics.origin[model.bodies[geom.body].tree] - first + kinematics.point(geom.body, known(geom.center));
      half = kinematics.turn[geom.body] * half;
    }
    p.named(center, name + "_center"), p.named(half, name + "_half");
    if (geom.is_turned()) {
      const Mat3 turn = geom.body < 0 ? known(geom.turn) : kinematics.turn[geom.body] * known(geom.turn);
      for (int i = 0; i < 3; ++i) p.set(at(at("w.geom_turn", turned) + ".turn", i), turn[i]);
      turned += 1;
    }
    for (int k = 0; k < 3; ++k) p.set(at(place + ".center", k), center[k]), p.set(at(place + ".half", k), half[k]);
  }
}

// Keeps the entries of row i of a matrix in an array of the work.
void keep_row(const RobotModel& model, const TreeMatrix& matrix, size_t i, const std::string& array, TreeMatrix& kept,
              Program& p) {
  const std::string name = identifier(model.dofs[i].name);
  kept.diagonal.push_back(p.keep(array, matrix.diagonal[i], name + "_" + array));
  kept.ancestors.emplace_back();
  for (size_t a = 0; a < model.dofs[i].ancestors.size(); ++a) {
    const std::string other = identifier(model.dofs[model.dofs[i].ancestors[a]].name);
    kept.ancestors[i].push_back(p.keep(array, matrix.ancestors[i][a], name + "_" + other + "_" + array));
  }
}

// Returns the entries of a matrix of drl/physics/trees.hpp, which begins at this place of an array.
TreeMatrix read_tree(const RobotModel& model, const std::string& array, int first, Program& p) {
  TreeMatrix matrix;
  for (const Dof& dof : model.dofs) {
    matrix.diagonal.push_back(p.input(at(array, first++), identifier(dof.name) + "_mass"));
    matrix.ancestors.emplace_back();
    for (const int a : dof.ancestors)
      matrix.ancestors.back().push_back(
          p.input(at(array, first++), identifier(dof.name) + "_" + identifier(model.dofs[a].name) + "_mass"));
  }
  return matrix;
}
// Computes M in loops: the projections of `dynamics.push`, and what `mass` and `dynamics.mass` add to them.
void keep_mass_in_loops(const RobotModel& model, const Dynamics& dynamics, const TreeMatrix& mass, Kept& kept,
                        Program& p) {
  const int entries = tree_entries(model), nv = model.nv;
  const bool has_two = !model.equalities.empty() && (model.implicit_damping || model.noslip);
  p.reserve("mass", has_two ? 2 * entries : entries);
  p.before("F push[" + std::to_string(nv) + "][6];"), p.before("for (F& x : w.mass) x = F(0);");
  for (size_t i = 0; i < dynamics.push.size(); ++i) p.set(at("push", i), dynamics.push[i]);
  add_to_tree(mass, "w.mass", 0, false, p);
  p.after("add_projections<Sizes>(w.axis, push, w.mass);", 6 * entries);
  kept.mass = read_tree(model, "w.mass", 0, p), kept.mass_alone = kept.mass;
  if (!has_two) return;
  add_to_tree(dynamics.mass, "w.mass", entries, false, p);
  p.after("add_projections<Sizes>(w.axis, push, w.mass + " + std::to_string(entries) + ");", 6 * entries);
  kept.mass_alone = read_tree(model, "w.mass", entries, p);
}

}  // namespace

std::array<Expr, 2> range_of(const RobotModel& model, const Joint& joint, Program& p) {
  const int index = static_cast<int>(&joint - model.joints.data());
  const auto [low, high] = std::pair(joint.limit->low, joint.limit->high);
  const Expr width = parameter(model, ModelParameter::range, index, 0, p);
  if (width.is_known()) return {low, high};
  const Expr middle = Expr(0.5 * (low + high)) + parameter(model, ModelParameter::range, index, 1, p);
  const Expr half = Expr(0.5 * (high - low)) * width;
  return {middle - half, middle + half};
}

void add_to_tree(const TreeMatrix& matrix, const std::string& array, int first, bool adds, Program& p) {
  const auto put = [&](const Expr& x) {
    const std::string place = at(array, first++);
    if (x.is(0)) return;
    adds ? p.add(place, x) : p.set(place, x);
  };
  for (size_t i = 0; i < matrix.diagonal.size(); ++i) {
    put(matrix.diagonal[i]);
    for (const Expr& x : matrix.ancestors[i]) put(x);
  }
}

Expr impedance(const Impedance& curve, const Expr& x) {
  const Expr share = min(max(x, -x) / curve.width, 1);
  Expr rise = share;
  if (curve.power == 2) {
    const Expr rest = Expr(1) - share;
    rise = select_less(share, curve.midpoint, share * share / curve.midpoint,
                       Expr(1) - rest * rest / (Expr(1) - curve.midpoint));
  }
  return curve.least + (curve.most - curve.least) * rise;
}

void trace_distances(const RobotModel& model, Program& p) {
  if (!has_exact_distances(model)) return;
  p.begin("Computes the distances from the floor, in double.",
          "distances(const auto& qpos, const auto& parameters, const auto& distance)", false, true);
  const Kinematics kinematics = trace_kinematics(model, p);
  for (size_t c = 0; c < model.contacts.size(); ++c) {
    const FloorContact& contact = model.contacts[c];
    p.set(at("distance", c), distance_of(model, contact, center_of(model, contact, kinematics, p), kinematics));
  }
}

Kept trace_smooth(const RobotModel& model, Program& p) {
  p.begin("Computes the dynamics without constraints, and stores in the work what the constraints need.",
          "smooth(const F* qpos, const F* qvel, const F* ctrl, const F* act, const F* parameters, Work& w)");
  const Kinematics kinematics = trace_kinematics(model, p);
  const Dynamics dynamics = trace_dynamics(model, kinematics, p);
  int number = 0;
  for (const int a : adhesions(model)) p.set(at("w.adhesive_force", number++), dynamics.actuator_force[a]);
  p.edges = edges_of(model, kinematics);
  place_components(model, kinematics.axis, p);
  Kept kept;
  const bool in_loops = finds_forces_in_loops(model, p);
  if (in_loops) find_forces_in_loops(model, dynamics, p);
  if (p.loops_over_bodies) kept.axis = keep_axes_of_loops(kinematics, p);
  TreeMatrix mass = dynamics.mass;
  std::vector<Expr> force = dynamics.force;
  trace_equalities(model, kinematics, mass, force, kept, p);
  if (in_loops) kept.force = keep_forces_for_loops(model, force, p);
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    const std::string name = identifier(model.dofs[i].name);
    if (p.loops_over_bodies) {
      // keep_axes_of_loops() has kept the axis.
    } else if (uses_loops(model)) {
      kept.axis.push_back(p.keep_all("axis", kinematics.axis[i], name + "_axis"));
    } else {
      const bool reads_axes = has_rows_of_pairs(model) || !adhesions(model).empty();  // drl/physics/pairs.hpp
      kept.axis.push_back(reads_axes ? p.keep_all("axis", kinematics.axis[i], name + "_axis")
                                     : p.keep("axis", kinematics.axis[i], name + "_axis"));
      keep_row(model, mass, i, "mass", kept.mass, p);
      if (model.implicit_damping || model.noslip) keep_row(model, dynamics.mass, i, "mass", kept.mass_alone, p);
    }
    if (!in_loops) kept.force.push_back(p.keep("force", force[i], name + "_smooth_force"));
    if (!adhesions(model).empty()) kept.force[i] += p.input(at("w.adhesion", i), name + "_adhesion");
    if (!model.implicit_damping) continue;
    TreeMatrix damping = dynamics.damping, above = dynamics.damping;
    if (!dynamics.turning.diagonal.empty()) {
      if (!model.turns_implicitly(model.dofs[i].body))
        above.diagonal[i] = 0, above.ancestors[i].assign(above.ancestors[i].size(), 0);
      else
        damping.diagonal[i] += dynamics.turning.diagonal[i], above.diagonal[i] = damping.diagonal[i];
      for (size_t a = 0; a < damping.ancestors[i].size(); ++a)
        damping.ancestors[i][a] += dynamics.turning.ancestors[i][a],
            above.ancestors[i][a] += dynamics.turning_above.ancestors[i][a];
      keep_row(model, above, i, "damping", kept.damping_above, p);
    }
    keep_row(model, damping, i, "damping", kept.damping, p);
  }
  if (uses_loops(model)) keep_mass_in_loops(model, dynamics, mass, kept, p);
  for (const int t : tendons_with_rows(model)) {
    kept.tendon_along.emplace_back();
    const std::vector<Expr> along = trace_tendon(model, t, kinematics, p).along;
    for (size_t i = 0; i < along.size(); ++i)
      kept.tendon_along.back().push_back(p.keep(
          "tendon_along", along[i], identifier(model.tendons[t].name) + "_along_" + identifier(model.dofs[i].name)));
  }
  for (size_t j = 0; j < model.joints.size(); ++j)
    if (model.joints[j].kind == Joint::free) {
      const int body = model.dofs[model.joints[j].dof].body;
      kept.free_turns[static_cast<int>(j)] =
          p.keep("free_turn", kinematics.turn[body], identifier(model.joints[j].name) + "_turn");
    }
  p.section("limits");
  trace_limits(model, kinematics, p);
  p.section("dry friction");
  trace_frictions(model, kinematics, p);
  p.section("contact points");
  trace_touches(model, kinematics, kept, p);
  if (model.pairs.empty()) return kept;
  p.section("geoms of pairs");
  trace_pair_geoms(model, kinematics, p);
  return kept;
}

}  // namespace drl::robot_compiler

#include "physics/robot_counts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "drl/physics/collide.hpp"

namespace drl::robot_compiler {

std::vector<int> numbered(const std::vector<bool>& which) {
  std::vector<int> numbers;
  int next = 0;
  for (const bool is : which) numbers.push_back(is ? next++ : -1);
  return numbers;
}
int count_numbers(const std::vector<int>& numbers) { return numbers.empty() ? 0 : std::ranges::max(numbers) + 1; }

std::vector<int> touching_bodies(const RobotModel& model) {
  std::vector<bool> touches(model.bodies.size());
  for (const FloorContact& contact : model.contacts) touches[contact.body] = true;
  for (size_t p = 0; p < model.ground_pairs; ++p) touches[body_on_ground(model, p)] = true;
  return numbered(touches);
}
int body_on_ground(const RobotModel& model, size_t pair) {
  const int first = model.pair_geoms[model.pairs[pair].first].body;
  return first >= 0 ? first : model.pair_geoms[model.pairs[pair].second].body;
}
double size_of(const PairGeom& geom) {
  const Numbers3& half = geom.half;
  return geom.is_turned() ? geom.bound : std::sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);
}
std::vector<int> touching_frames(const RobotModel& model) {
  std::vector<bool> touches(model.frames.size());
  for (const FloorContact& contact : model.contacts) touches[contact.frame] = true;
  for (const PairGeom& geom : model.pair_geoms) touches[geom.frame] = geom.frame > 0;
  return numbered(touches);
}
bool moves(const RobotModel& model, size_t dof, int body) {
  while (body >= 0 && body != model.dofs[dof].body) body = model.bodies[body].parent;
  return body >= 0;
}
int count_equality_rows(const RobotModel& model) {
  int rows = 0;
  for (const Equality& equality : model.equalities) rows += equality.rows();
  return rows;
}
std::vector<const Joint*> limited_joints(const RobotModel& model) {
  std::vector<const Joint*> joints;
  for (const Joint& joint : model.joints)
    if (joint.limit) joints.push_back(&joint);
  return joints;
}
std::vector<int> frictional_dofs(const RobotModel& model) {
  std::vector<int> dofs;
  for (size_t i = 0; i < model.dofs.size(); ++i)
    if (model.dofs[i].friction) dofs.push_back(static_cast<int>(i));
  return dofs;
}

namespace {
template <class Is>
std::vector<int> tendons_that(const RobotModel& model, const Is& is) {
  std::vector<int> tendons;
  for (size_t t = 0; t < model.tendons.size(); ++t)
    if (std::invoke(is, model.tendons[t])) tendons.push_back(static_cast<int>(t));
  return tendons;
}
}  // namespace
std::vector<int> limited_tendons(const RobotModel& model) {
  return tendons_that(model, [](const Tendon& tendon) { return tendon.limit.has_value(); });
}
std::vector<int> frictional_tendons(const RobotModel& model) {
  return tendons_that(model, [](const Tendon& tendon) { return tendon.friction.has_value(); });
}
std::vector<int> tendons_with_rows(const RobotModel& model) { return tendons_that(model, &Tendon::has_rows); }
int count_limits(const RobotModel& model) {
  return static_cast<int>(limited_joints(model).size() + limited_tendons(model).size());
}
int count_frictions(const RobotModel& model) {
  return static_cast<int>(frictional_dofs(model).size() + frictional_tendons(model).size());
}
std::set<int> dofs_of_tendon(const RobotModel& model, const Tendon& tendon) {
  std::set<int> dofs;
  for (const Tendon::Term& term : tendon.terms)
    if (term.factor != 0) dofs.insert(model.joints[term.joint].dof);
  if (tendon.ball >= 0)
    for (int k = 0; k < 3; ++k) dofs.insert(model.joints[tendon.ball].dof + k);
  for (const Tendon::Part& part : tendon.path) {
    const int from = model.sites[part.from].body;
    const int to = model.sites[part.to].body;
    const int between = part.geom < 0 ? from : model.geoms[part.geom].body;
    for (size_t i = 0; i < model.dofs.size(); ++i) {
      const bool moves_from = moves(model, i, from);
      if (moves(model, i, to) != moves_from || moves(model, i, between) != moves_from) dofs.insert(static_cast<int>(i));
    }
  }
  return dofs;
}
std::set<int> dofs_of_actuator(const RobotModel& model, const Actuator& actuator) {
  if (actuator.acts_on == Actuator::tendon) return dofs_of_tendon(model, model.tendons[actuator.target]);
  std::set<int> dofs;
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    bool is_moved = model.dofs[i].joint == actuator.target;
    if (actuator.acts_on == Actuator::site || actuator.acts_on == Actuator::slider_crank) {
      const auto moves_site = [&](const Actuator::Site& of) {
        return of.site >= 0 && moves(model, i, model.sites[of.site].body);
      };
      is_moved = moves_site(actuator.from) != moves_site(actuator.reference);
    }
    if (is_moved) dofs.insert(static_cast<int>(i));
  }
  return dofs;
}

std::vector<int> adhesions(const RobotModel& model) {
  std::vector<int> actuators;
  if (std::ranges::any_of(model.pairs, [](const GeomPair& pair) { return pair.adhesions != 0; }))
    for (size_t a = 0; a < model.actuators.size(); ++a)
      if (model.actuators[a].acts_on == Actuator::body) actuators.push_back(static_cast<int>(a));
  return actuators;
}

int count_pyramids(const RobotModel& model) { return model.elliptic ? 0 : static_cast<int>(model.contacts.size()); }
int count_cones(const RobotModel& model) { return model.elliptic ? static_cast<int>(model.contacts.size()) : 0; }
int count_turned_geoms(const RobotModel& model) {
  return static_cast<int>(std::ranges::count_if(model.pair_geoms, &PairGeom::is_turned));
}

bool remembers_pairs(const RobotModel& model) {
  return std::ranges::any_of(model.pairs, [&](const GeomPair& pair) {
    const PairGeom &a = model.pair_geoms[pair.first], &b = model.pair_geoms[pair.second];
    return a.kind != PairGeom::height_field && physics::is_convex_pair(a.kind, b.kind);
  });
}

std::vector<int> sensor_places(const RobotModel& model) {
  std::vector<int> places;
  for (const Sensor& sensor : model.sensors) {
    places.resize(static_cast<size_t>(sensor.first + sensor.size), -1);
    const auto index = static_cast<size_t>(sensor.index);
    if (sensor.kind == Sensor::touch) places.back() = model.touch_sensors[index].place;
    for (int k = 0; k < sensor.size && sensor.kind == Sensor::contact; ++k)
      places[sensor.first + k] = model.contact_sensors[index].place + k;
  }
  int next = count_numbers(places);
  for (const Sensor& sensor : model.sensors)
    for (int k = 0; k < sensor.size && (model.runge_kutta || sensor.shows_forces()); ++k)
      if (int& place = places[sensor.first + k]; place < 0) place = next++;
  return places;
}

bool has_exact_distances(const RobotModel& model) {
  constexpr int kMost = 12;  // points of a body, so that they are close together
  std::vector<int> points(model.bodies.size());
  for (const FloorContact& contact : model.contacts) points[contact.body] += 1;
  return count_cones(model) > 0 ||
         (has_rows_of_pairs(model) && std::ranges::any_of(points, [](int n) { return n > kMost; }));
}
std::vector<int> tree_rows(const RobotModel& model) {
  std::vector<int> rows{0};
  for (const Dof& dof : model.dofs) rows.push_back(rows.back() + 1 + static_cast<int>(dof.ancestors.size()));
  return rows;
}
int tree_entries(const RobotModel& model) { return tree_rows(model).back(); }
int tree_products(const RobotModel& model) {
  size_t products = 0;
  for (const Dof& dof : model.dofs) products += dof.ancestors.size() * (dof.ancestors.size() + 1) / 2;
  return static_cast<int>(products);
}
bool uses_loops(const RobotModel& model) {
  constexpr int kMostProducts = 2000;  // G1 has 1742
  return tree_products(model) > kMostProducts;
}
std::vector<int> tree_movers(const RobotModel& model) {
  std::vector<int> movers;
  for (const Dof& dof : model.dofs) {
    const auto moves_it = [&](int a) { return moves(model, static_cast<size_t>(a), dof.body); };
    const auto next = std::ranges::find_if(dof.ancestors, moves_it);
    movers.push_back(next == dof.ancestors.end() ? -1 : *next);
  }
  return movers;
}
std::vector<int> chains(const RobotModel& model) {
  std::vector<int> chain;
  for (size_t i = 0, next = 0; i < model.dofs.size(); ++i) {
    const auto parent = [&](size_t dof) {
      return model.dofs[dof].ancestors.empty() ? -1 : model.dofs[dof].ancestors[0];
    };
    const int before = static_cast<int>(i) - 1;
    bool has_branch = false;
    for (size_t other = i + 1; other < model.dofs.size(); ++other) has_branch = has_branch || parent(other) == before;
    chain.push_back(static_cast<int>(i > 0 && parent(i) == before && !has_branch ? next - 1 : next++));
  }
  return chain;
}
int dimensions_of(const GeomPair& pair) { return pair.edges > 0 ? pair.edges / 2 + 1 : pair.cone.dimensions; }
int pair_dimensions(const RobotModel& model) {
  int most = 1;
  for (size_t p = model.ground_pairs; p < model.pairs.size(); ++p) most = std::max(most, dimensions_of(model.pairs[p]));
  return most;
}
int residual_numbers(const RobotModel& model) {
  int bits = 0;
  if (model.elliptic)
    for (const FloorContact& c : model.contacts) bits |= 1 << c.cone.dimensions;
  for (size_t p = 0; p < model.ground_pairs; ++p) bits |= 1 << model.pairs[p].cone.dimensions;
  return bits;
}
int pair_columns(const RobotModel& model) {
  std::set<std::pair<int, int>> bodies;
  for (size_t p = model.ground_pairs; p < model.pairs.size(); ++p)
    bodies.emplace(model.pair_geoms[model.pairs[p].first].body, model.pair_geoms[model.pairs[p].second].body);
  int most = 1;
  for (const auto& [first, second] : bodies) {
    int columns = 0;
    for (size_t dof = 0; dof < model.dofs.size(); ++dof)
      columns += moves(model, dof, first) != moves(model, dof, second) ? 1 : 0;
    most = std::max(most, columns);
  }
  return most;
}
int most_friction_directions(const RobotModel& model) {
  int most = 0;
  for (const GeomPair& pair : model.pairs)
    if (model.elliptic) most = std::max(most, pair.cone.dimensions - 1);
  return most;
}
bool edges_vary(const RobotModel& model) {
  const auto varies = [](const auto& contact) { return contact.cone.dimensions > 1 && !contact.cone.varies.empty(); };
  return !model.elliptic && (std::ranges::any_of(model.contacts, varies) || std::ranges::any_of(model.pairs, varies));
}
std::pair<int, int> touched_frames(const RobotModel& model, int first, int second) {
  const auto touched = [&](int frame) {
    return std::ranges::find(model.touch_sensors, frame, &TouchSensor::frame) == model.touch_sensors.end() ? -1 : frame;
  };
  return {touched(first), touched(second)};
}
std::pair<int, int> touched_frames(const RobotModel& model, const GeomPair& pair) {
  return touched_frames(model, model.pair_geoms[pair.first].frame, model.pair_geoms[pair.second].frame);
}
bool senses_pairs(const RobotModel& model) {
  return std::ranges::any_of(model.pairs, [&](const GeomPair& pair) {
    return pair.sensed.sensors != 0 || touched_frames(model, pair) != std::pair(-1, -1);
  });
}
bool senses_gaps(const RobotModel& model) {
  return std::ranges::any_of(model.pairs,
                             [](const GeomPair& pair) { return pair.gap > 0 && pair.sensed.sensors != 0; });
}
bool senses_axes(const RobotModel& model) {
  return std::ranges::any_of(model.contact_sensors, &ContactSensor::needs_axes);
}
bool senses_distances(const RobotModel& model) {
  return std::ranges::any_of(model.contact_sensors, &ContactSensor::needs_distance);
}
bool senses(const RobotModel& model, Sensor::Kind kind) {
  return std::ranges::find(model.sensors, kind, &Sensor::kind) != model.sensors.end();
}
bool senses(const RobotModel& model, bool (Sensor::*is)() const) { return std::ranges::any_of(model.sensors, is); }
int count_sensed(const RobotModel& model) { return (count_numbers(sensor_places(model)) + 3) / 4; }

FluidDrag drag_of(const RobotModel& model, const FluidBox& box) {
  const auto& r = box.half;
  const double mean = (r[0] + r[1] + r[2]) / 3, viscous = std::numbers::pi * model.viscosity * mean;
  FluidDrag drag;
  for (size_t i = 0; i < 3; ++i) {
    const double side = r[i], a = r[(i + 1) % 3], b = r[(i + 2) % 3];
    drag.linear[i] = 8 * viscous * mean * mean, drag.linear[3 + i] = 6 * viscous;
    drag.quadratic[i] = model.density / 2 * side * (a * a * a * a + b * b * b * b);
    drag.quadratic[3 + i] = 2 * model.density * a * b;
  }
  return drag;
}

int place_of_parameter(const RobotModel& model, ModelParameter::Kind kind, int index) {
  const auto is_it = [&](const Parameter& p) { return p.kind == kind && p.index == index; };
  const auto found = std::ranges::find_if(model.parameters, is_it);
  return found == model.parameters.end() ? -1 : static_cast<int>(3 * (found - model.parameters.begin()));
}
int place_of_constant(const RobotModel& model, DerivedConstants::Of of, int index) {
  const auto& all = model.constants.of;
  const auto found = std::ranges::find(all, std::pair(of, index));
  return found == all.end() ? -1 : static_cast<int>(3 * model.parameters.size() + (found - all.begin()));
}
bool moves_sites(const RobotModel& model) {
  return std::ranges::find(model.parameters, ModelParameter::site_position, &Parameter::kind) != model.parameters.end();
}

}  // namespace drl::robot_compiler

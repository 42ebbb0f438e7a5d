#include "physics/robot_counts.hpp"

#include <algorithm>
#include <map>
#include <utility>

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
  for (const FloorContact& contact : model.contacts) touches[static_cast<size_t>(contact.body)] = true;
  return numbered(touches);
}
std::vector<int> touching_frames(const RobotModel& model) {
  std::vector<bool> touches(model.frames.size());
  for (const FloorContact& contact : model.contacts) touches[static_cast<size_t>(contact.frame)] = true;
  for (const PairGeom& geom : model.pair_geoms) touches[static_cast<size_t>(geom.frame)] = geom.frame > 0;
  return numbered(touches);
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

int count_pyramids(const RobotModel& model) { return model.elliptic ? 0 : static_cast<int>(model.contacts.size()); }
int count_cones(const RobotModel& model) { return model.elliptic ? static_cast<int>(model.contacts.size()) : 0; }
int count_boxes(const RobotModel& model) {
  return static_cast<int>(std::ranges::count_if(model.pair_geoms, [](const PairGeom& geom) { return !!geom.box; }));
}

int count_pair_rows(const RobotModel& model) {
  constexpr int kMost = 64, kManyPairs = 16;
  int rows = 0;
  std::map<std::pair<int, int>, int> pairs;  // of two frames
  bool are_many = false;
  for (const GeomPair& pair : model.pairs) {
    const auto frame = [&](int geom) { return model.pair_geoms[static_cast<size_t>(geom)].frame; };
    are_many = are_many || ++pairs[std::minmax(frame(pair.first), frame(pair.second))] > kManyPairs;
    rows += 2 * pair.edges;  // 0 edges for an elliptic cone
  }
  return std::min(rows, are_many ? 2 * kMost : kMost);
}

int count_pair_cones(const RobotModel& model) {
  constexpr auto kMost = std::ptrdiff_t{8};
  const auto has_cone = [&](const GeomPair& pair) { return model.elliptic && pair.cone.dimensions > 1; };
  return static_cast<int>(std::min(kMost, 2 * std::ranges::count_if(model.pairs, has_cone)));
}

std::vector<int> sensor_places(const RobotModel& model) {
  std::vector<int> places;
  for (const Sensor& sensor : model.sensors) {
    places.resize(static_cast<size_t>(sensor.first + sensor.size), -1);
    for (int k = 0; k < sensor.size && sensor.kind == Sensor::contact; ++k)
      places[static_cast<size_t>(sensor.first + k)] =
          model.contact_sensors[static_cast<size_t>(sensor.index)].place + k;
  }
  int next = count_numbers(places);
  for (const Sensor& sensor : model.sensors)
    for (int k = 0; k < sensor.size && model.runge_kutta; ++k)
      if (int& place = places[static_cast<size_t>(sensor.first + k)]; place < 0) place = next++;
  return places;
}

bool has_exact_distances(const RobotModel& model) {
  constexpr int kMost = 12;  // points of a body: a box and two capsules have as many
  std::vector<int> points(model.bodies.size());
  for (const FloorContact& contact : model.contacts) points[static_cast<size_t>(contact.body)] += 1;
  return count_cones(model) > 0 ||
         (!model.pairs.empty() && std::ranges::any_of(points, [](int n) { return n > kMost; }));
}
std::vector<int> branches(const RobotModel& model) {
  constexpr int kLeast = 4;  // degrees of freedom of a branch
  const size_t n = model.bodies.size();
  std::vector<int> branch(n, -1), dofs(n), forks(n);
  if (!has_exact_distances(model) || model.elliptic || !frictional_dofs(model).empty()) return branch;
  for (const Dof& dof : model.dofs) dofs[static_cast<size_t>(dof.body)] += 1;
  const auto parent = [&](size_t b) { return static_cast<size_t>(model.bodies[b].parent); };
  const auto is_root = [&](size_t b) { return model.bodies[b].parent < 0; };
  for (size_t b = n; b-- > 0;)
    if (!is_root(b)) dofs[parent(b)] += dofs[b], forks[parent(b)] += dofs[b] >= kLeast ? 1 : 0;
  std::vector<bool> is_trunk(n);
  for (size_t b = n; b-- > 0;) {
    is_trunk[b] = is_trunk[b] || forks[b] > 1;
    if (is_trunk[b] && !is_root(b)) is_trunk[parent(b)] = true;
  }
  int next = 0;
  for (size_t b = 0; b < n; ++b) {
    if (is_root(b) || is_trunk[b]) continue;
    if (is_trunk[parent(b)] && dofs[b] >= kLeast)
      branch[b] = next++;
    else
      branch[b] = branch[parent(b)];
  }
  return branch;
}
bool edges_vary(const RobotModel& model) {
  const auto varies = [](const auto& contact) { return contact.cone.dimensions > 1 && !contact.cone.varies.empty(); };
  return !model.elliptic && (std::ranges::any_of(model.contacts, varies) || std::ranges::any_of(model.pairs, varies));
}
bool senses_pairs(const RobotModel& model) {
  return std::ranges::any_of(model.pairs, [](const GeomPair& pair) { return pair.sensed.sensors != 0; });
}
bool senses_axes(const RobotModel& model) {
  return std::ranges::any_of(model.contact_sensors, &ContactSensor::needs_axes);
}
bool senses_distances(const RobotModel& model) {
  return std::ranges::any_of(model.contact_sensors, &ContactSensor::needs_distance);
}
int count_sensed(const RobotModel& model) { return (count_numbers(sensor_places(model)) + 3) / 4; }

}  // namespace drl::robot_compiler

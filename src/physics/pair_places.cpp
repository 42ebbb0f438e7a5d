#include <cmath>
#include <map>

#include "drl/physics/height_fields.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "drl/physics/multiccd.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

// The most contacts that two geoms of these kinds have (drl/physics/collide.hpp), without the flag multiccd.
int most_contacts(physics::ShapeKind a, physics::ShapeKind b) {
  if (a == PairGeom::plane) {
    using enum physics::ShapeKind;
    constexpr auto kWithPlane = by_enum<physics::ShapeKind, int>(
        mesh, {{plane, 0}, {sphere, 1}, {capsule, 2}, {ellipsoid, 1}, {cylinder, 4}, {box, 4}, {mesh, 4}});
    return kWithPlane[static_cast<size_t>(b)];
  }
  if (a == PairGeom::height_field) return physics::OverField::kMostContacts;
  if (a == PairGeom::box && b == PairGeom::box) return physics::kMostShapeContacts;
  return b > PairGeom::capsule && b != PairGeom::box ? 1 : 2;
}

class Places {
 public:
  Places(VisitedStates& visited, const RobotModel& robot)
      : visited_(visited), r_(robot), most_on_field_(robot.ground_pairs) {
    for (size_t p = 0; p < r_.pairs.size(); ++p)
      pair_of_[std::minmax(geom(r_.pairs[p].first).geom, geom(r_.pairs[p].second).geom)] = p;
  }

  // Returns the number of contacts that ground pairs can have, and gives each pair its places: with a height field
  // `contacts`, if it is not 0.
  int place_ground_pairs(RobotModel& robot, int contacts) {
    int places = 0;
    if (!r_.height_fields.empty() && contacts == 0) visit_states();
    for (size_t p = 0; p < robot.ground_pairs; ++p) {
      GeomPair& pair = robot.pairs[p];
      const physics::ShapeKind first = geom(pair.first).kind, second = geom(pair.second).kind;
      pair.place = places;
      if (first == PairGeom::height_field) {
        // The six triangles around a point of the grid, and two more; or, if a margin reaches other cells, those of a
        // cell and of the eight around it.
        const int least = mujoco::kConvexSearchIsStable && pair.margin > 0 ? 18 : 8;
        pair.places = places_on_field(pair, contacts > 0 ? contacts : std::max(least, 2 * most_on_field_[p]));
      }
      // Lanes may find the contacts of parallel capsules at different ends.
      const bool are_capsules = first == PairGeom::capsule && second == PairGeom::capsule;
      places += pair.places > 0 ? pair.places : are_capsules ? 5 : most_contacts(pair);
    }
    return places;
  }

  int choose(int contacts) {
    int all = 0;
    for (size_t p = r_.ground_pairs; p < r_.pairs.size(); ++p) all += most_contacts(r_.pairs[p]);
    if (all == 0) return 0;
    if (contacts > 0 || all <= kEnough) return std::min(all, contacts > 0 ? contacts : kEnough);
    visit_states();
    return std::min(all, std::max(kEnough, most_ + most_ / 2));
  }

 private:
  static constexpr int kEnough = 16;

  // Returns the most contacts that a pair has.
  int most_contacts(const GeomPair& pair) const {
    const PairGeom &a = geom(pair.first), &b = geom(pair.second);
    constexpr int kMostOfFaces = 4, kMostOfEdges = 2;
    if (!r_.multiccd || !physics::has_many_contacts(a.kind, b.kind))
      return robot_compiler::most_contacts(a.kind, b.kind);
    if (mujoco::kSidesTouch && a.kind == PairGeom::capsule) return kMostOfEdges;
    if (mujoco::kSidesTouch || physics::has_face_contacts(a.kind, b.kind, pair.margin)) return kMostOfFaces;
    return physics::kMostConvexContacts;
  }
  const PairGeom& geom(int g) const { return r_.pair_geoms[g]; }
  // Returns how many contacts with a height field a lane has places for: `wanted`, but at most one for each prism that
  // a sphere around the geom can reach.
  int places_on_field(const GeomPair& pair, int wanted) const {
    const HeightField& field = r_.height_fields[geom(pair.first).hull];
    const PairGeom& other = geom(pair.second);
    double prisms = 2;
    for (size_t k = 0; k < 2; ++k) {
      const double cell = 2 * field.size[k] / ((k == 0 ? field.columns : field.rows) - 1);
      prisms *= std::floor(2 * (std::max(other.bound, other.radius) + pair.margin) / cell) + 2;
    }
    const int most = robot_compiler::most_contacts(PairGeom::height_field, other.kind);
    return static_cast<int>(std::min({double(most), prisms, double(wanted)}));
  }
  void visit_states() {
    if (has_visited_) return;
    has_visited_ = true;
    for (const VisitedStep& step : visited_.steps()) count(step);
  }
  void count(const VisitedStep& step) {
    int here = 0;
    std::vector<int> on_field(most_on_field_.size());
    for (const VisitedContact& contact : step.contacts) {
      const auto pair = pair_of_.find(std::minmax(contact.first, contact.second));
      if (pair == pair_of_.end()) continue;
      if (pair->second >= r_.ground_pairs)
        most_ = std::max(most_, ++here);
      else if (int& count = on_field[pair->second]; ++count > most_on_field_[pair->second])
        most_on_field_[pair->second] = count;
    }
  }

  VisitedStates& visited_;
  const RobotModel& r_;
  std::map<std::pair<int, int>, size_t> pair_of_;  // by geoms
  int most_ = 0;                                   // contacts of other pairs
  std::vector<int> most_on_field_;                 // contacts of each ground pair
  bool has_visited_ = false;
};

}  // namespace

void choose_pair_places(VisitedStates& visited, RobotModel& robot, int contacts) {
  // Beyond, a lane's memory would be mostly for contacts that never exist.
  const int kMostGround = robot.height_fields.empty() ? 256 : 1024;
  const auto is_of_world = [&](int g) { return robot.pair_geoms[g].body < 0; };
  const auto moving = std::ranges::stable_partition(
      robot.pairs, [&](const GeomPair& pair) { return is_of_world(pair.first) || is_of_world(pair.second); });
  robot.ground_pairs = robot.pairs.size() - moving.size();
  int ground = Places(visited, robot).place_ground_pairs(robot, contacts);
  if (ground > kMostGround || robot.noslip) robot.ground_pairs = 0, ground = 0;
  // The noslip solver goes through the contacts in MuJoCo's order.
  if (robot.noslip) std::ranges::sort(robot.pairs, {}, [](const GeomPair& pair) { return pair.sensed.order; });
  robot.pair_places = {.contacts = Places(visited, robot).choose(contacts), .ground = ground};
}

}  // namespace drl::robot_compiler

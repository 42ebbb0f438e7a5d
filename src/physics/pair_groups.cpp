#include <cmath>
#include <map>

#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

constexpr size_t kMostOfCluster = 8;

double distance(const Numbers3& a, const Numbers3& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

// Geoms of one body (or of the world) that are near each other, within a sphere around the centre of one of them.
struct Cluster {
  int geom = 0;
  double radius = 0;
};

class Clusters {
 public:
  explicit Clusters(const RobotModel& robot) : r_(robot), of_geom_(robot.pair_geoms.size()) {
    std::map<int, std::vector<int>> of_body;
    for (size_t g = 0; g < r_.pair_geoms.size(); ++g)
      if (r_.pair_geoms[g].kind == PairGeom::plane)
        add({static_cast<int>(g)});
      else
        of_body[r_.pair_geoms[g].body].push_back(static_cast<int>(g));
    for (auto& [body, geoms] : of_body) split(geoms);
  }
  int of(int geom) const { return of_geom_[geom]; }
  const Cluster& operator[](int cluster) const { return all_[cluster]; }

 private:
  const PairGeom& geom(int g) const { return r_.pair_geoms[g]; }
  // Halves geoms along the axis along which their centres are furthest apart, until they are few.
  void split(std::vector<int> geoms) {
    if (geoms.size() <= kMostOfCluster) return add(geoms);
    size_t axis = 0;
    double longest = -1;
    for (size_t k = 0; k < 3; ++k) {
      const auto [low, high] = std::ranges::minmax(geoms, {}, [&](int g) { return geom(g).center[k]; });
      if (const double length = geom(high).center[k] - geom(low).center[k]; length > longest)
        longest = length, axis = k;
    }
    std::ranges::stable_sort(geoms, {}, [&](int g) { return geom(g).center[axis]; });
    const auto middle = geoms.begin() + static_cast<std::ptrdiff_t>(geoms.size() / 2);
    split({geoms.begin(), middle}), split({middle, geoms.end()});
  }
  void add(const std::vector<int>& geoms) {
    const auto radius = [&](int g) {
      double longest = 0;
      for (const int other : geoms)
        longest =
            std::max(longest, distance(geom(g).center, geom(other).center) + geom(other).radius + size_of(geom(other)));
      return longest;
    };
    const int middle = std::ranges::min(geoms, {}, radius);
    for (const int g : geoms) of_geom_[g] = static_cast<int>(all_.size());
    all_.push_back({middle, radius(middle)});
  }

  const RobotModel& r_;
  std::vector<int> of_geom_;
  std::vector<Cluster> all_;
};

}  // namespace

void group_pairs(RobotModel& robot) {
  if (robot.pairs.size() <= kMostPairsInFull || robot.noslip) return;  // noslip keeps MuJoCo's order
  const Clusters clusters(robot);
  // The first cluster is the one of a plane, if there is one.
  const auto key = [&](const GeomPair& pair) {
    return std::pair(std::minmax({clusters.of(pair.first), clusters.of(pair.second)}));
  };
  const auto first = robot.pairs.begin() + static_cast<std::ptrdiff_t>(robot.ground_pairs);
  std::stable_sort(first, robot.pairs.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (auto end = first; end != robot.pairs.end();) {
    const auto here = key(*end);
    double margin = 0;
    for (; end != robot.pairs.end() && key(*end) == here; ++end) margin = std::max(margin, end->margin);
    const Cluster &a = clusters[here.first], &b = clusters[here.second];
    robot.pair_groups.push_back(
        {.first = a.geom, .second = b.geom, .reach = a.radius + b.radius + margin, .end = end - first});
  }
}

}  // namespace drl::robot_compiler

#include "drl/physics/collide.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  std::string read(int s, Sensor& sensor) {
    const std::array<int, 4> objects{m_.sensor_objtype[s], m_.sensor_objid[s], m_.sensor_reftype[s],
                                     m_.sensor_refid[s]};
    const double most = m_.sensor_cutoff[s];
    const auto is_same = [&](const DistanceQuery& other) { return other.objects == objects && other.most == most; };
    const auto known = std::ranges::find_if(r_.distance_queries, is_same);  // other sensors may show the same
    sensor.index = static_cast<int>(known - r_.distance_queries.begin());
    if (known != r_.distance_queries.end()) return "";
    std::vector<std::pair<int, int>> pairs;
    for (const int a : geoms_of(objects[0], objects[1]))
      for (const int b : geoms_of(objects[2], objects[3])) {
        if (is_ground(a) && is_ground(b)) continue;  // libmujoco knows no distance of these
        if (const std::string why = why_not(a, b); !why.empty()) return why;
        pairs.emplace_back(a, b);
      }
    const auto first = static_cast<int>(r_.distance_pairs.size());
    for (const auto& [a, b] : pairs) {
      const int of_a = index_of(a), of_b = index_of(b);
      r_.distance_pairs.push_back({of_a, of_b});
    }
    const auto end = static_cast<int>(r_.distance_pairs.size());
    r_.distance_queries.push_back({.first = first, .end = end, .most = most, .objects = objects});
    return "";
  }

 private:
  std::vector<int> geoms_of(int type, int object) const {
    if (type != mjOBJ_BODY) return {object};
    std::vector<int> geoms;
    for (int k = 0; k < m_.body_geomnum[object]; ++k) geoms.push_back(m_.body_geomadr[object] + k);
    return geoms;
  }
  bool is_ground(int g) const { return m_.geom_type[g] == mjGEOM_PLANE || m_.geom_type[g] == mjGEOM_HFIELD; }
  // Returns why lanes do not compute the distance of two geoms, or "".
  std::string why_not(int a, int b) const {
    for (const int g : {a, b}) {
      const std::string shown = "it shows the distance of geom '" + name(mjOBJ_GEOM, g) + "', ";
      if (m_.geom_type[g] == mjGEOM_HFIELD) return shown + "a height field";
      if (m_.geom_type[g] > mjGEOM_MESH) return shown + "whose shape lanes do not know";
      if (m_.geom_type[g] == mjGEOM_MESH && m_.mesh_vertnum[m_.geom_dataid[g]] > kMostVertices)
        return shown + "a mesh of more than " + std::to_string(kMostVertices) + " vertices";
    }
    // In MuJoCo 3.5.0, up to 4 % of the distances that GJK finds between shapes of which neither is a plane, a sphere
    // or a capsule are wrong, depending on rounding.
    const auto [first, second] = std::minmax({shape_of(m_.geom_type[a]), shape_of(m_.geom_type[b])});
    if (!physics::is_convex_pair(first, second)) return "";
    if (is_off(mjDSBL_NATIVECCD)) return "the flag nativeccd is disabled";
    if (m_.opt.ccd_iterations > physics::kMostConvexIterations)
      return "ccd_iterations is above " + std::to_string(physics::kMostConvexIterations);
    return "";
  }
  // Returns the index of a geom, and adds it if it is new.
  int index_of(int g) {
    const auto known = std::ranges::find(r_.distance_geoms, g, &SensorGeom::geom);
    const auto place = static_cast<int>(known - r_.distance_geoms.begin());
    if (known != r_.distance_geoms.end()) return place;
    const mjtNum* size = m_.geom_size + 3 * g;
    SensorGeom geom{
        .geom = g, .frame = m_.geom_bodyid[g], .size = {size[0], size[1], size[2]}, .bound = m_.geom_rbound[g]};
    geom.kind = shape_of(m_.geom_type[g]);
    if (geom.kind == SensorGeom::mesh) geom.data = hull_of(m_.geom_dataid[g]);
    r_.distance_geoms.push_back(geom);
    return place;
  }
  int hull_of(int mesh) {
    const auto known = std::ranges::find(r_.hulls, mesh, &MeshHull::mesh);
    const auto place = static_cast<int>(known - r_.hulls.begin());
    if (known == r_.hulls.end()) r_.hulls.push_back(read_hull(m_, mesh));
    return place;
  }

  static constexpr int kMostVertices = 20'000;
};

}  // namespace

std::string read_distance_sensor(const mjModel& model, int sensor, Sensor& to, RobotModel& robot) {
  return Reader(model, robot).read(sensor, to);
}

}  // namespace drl::robot_compiler

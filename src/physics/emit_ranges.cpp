#include <algorithm>

#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

// `item` is the name of the table's function, and `count` that of its size.
std::string emit_geoms(const RobotModel& model, const std::vector<SensorGeom>& geoms, const std::string& item,
                       const std::string& count) {
  Table table(
      "Geoms: kind, body, size, bound, height field or hull, index among those that move, or pose; the parameter of\n"
      "the radius.",
      "SensorGeom", item, count);
  int moving = 0;
  for (const SensorGeom& geom : geoms) {
    const Placement& place = model.geoms[geom.geom];
    const int factor = place_of_parameter(model, ModelParameter::size, geom.geom);
    const bool moves = place.body >= 0;
    table.name(place.name)
        .add(name_of(geom.kind), geom.frame, geom.size, geom.bound * (factor < 0 ? 1 : ModelParameter::kMostGrowth),
             geom.data, moves ? moving++ : -1,
             moves ? "{}" : braced(joined(place.pos[0], place.pos[1], place.pos[2]), flat(place.turn)), factor);
  }
  return table.text();
}
auto count_moving(const RobotModel& model, const std::vector<SensorGeom>& geoms) {
  const auto moves = [&](const SensorGeom& geom) { return model.geoms[geom.geom].body >= 0; };
  return std::ranges::count_if(geoms, moves);
}

// Writes the triangles of the meshes that rays may meet.
std::string emit_ray_meshes(const RobotModel& model) {
  if (model.ray_meshes.empty()) return "";
  Table meshes("Meshes: the first triangle, the end of their triangles.", "RayMesh", "ray_mesh",
               in_cpp(model.ray_meshes.size()));
  Table triangles("Triangles: a corner, the normal, the rows that give the coordinates of a point.", "MeshTriangle",
                  "mesh_triangle", "kMeshTriangles");
  const auto minus = [](const Numbers3& a, const Numbers3& b) {
    return Numbers3{a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  };
  const auto times = [](const Numbers3& a, const Numbers3& b) {
    return Numbers3{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  const auto divided = [](Numbers3 a, double by) {
    for (double& x : a) x /= by;
    return a;
  };
  for (const RayMesh& mesh : model.ray_meshes) {
    const size_t first = triangles.size();
    for (const auto& [corner, second, third] : mesh.triangles) {
      const Numbers3 a = minus(second, corner), b = minus(third, corner), normal = times(a, b);
      const double square = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2];
      if (square > 0)  // otherwise, it has no area
        triangles.add(corner, normal, divided(times(b, normal), square), divided(times(normal, a), square));
    }
    meshes.add(first, triangles.size());
  }
  return constants("int", {{"kMeshTriangles", triangles.size()}}) + meshes.text() + triangles.text();
}

}  // namespace

std::string emit_range_finders(const RobotModel& model) {
  Table finders("Range finders: their body, the number in MuJoCo's sensordata, the cutoff.", "RangeFinder",
                "range_finder", "kRangeFinders");
  for (const RangeFinder& finder : model.range_finders) finders.add(finder.frame, finder.number, finder.cutoff);
  return constants("int", {{"kRangeFinders", finders.size()},
                           {"kRayGeoms", model.ray_geoms.size()},
                           {"kMovingRayGeoms", count_moving(model, model.ray_geoms)}}) +
         finders.text() + emit_geoms(model, model.ray_geoms, "ray_geom", "kRayGeoms") + emit_ray_meshes(model);
}

std::string emit_distance_sensors(const RobotModel& model) {
  const auto kind = [](const Sensor& sensor) {
    return sensor.kind == Sensor::distance ? "distance" : sensor.kind == Sensor::normal ? "normal" : "segment";
  };
  Table sensors("Sensors of distances: what they show, the number in MuJoCo's sensordata, the query.", "DistanceSensor",
                "distance_sensor", "kDistanceSensors");
  for (const Sensor& sensor : model.sensors)
    if (sensor.shows_distance())
      sensors.add(std::string("DistanceSensor::") + kind(sensor), sensor.first, sensor.index);
  Table queries("Queries: the first pair and the end of their pairs, the largest distance.", "DistanceQuery",
                "distance_query", "kDistanceQueries");
  for (const DistanceQuery& query : model.distance_queries) queries.add(query.first, query.end, query.most);
  std::vector<std::string> pairs;
  for (const DistancePair& pair : model.distance_pairs) pairs.push_back(braced(pair.first, pair.second));
  return constants("int", {{"kDistanceSensors", sensors.size()},
                           {"kDistanceQueries", queries.size()},
                           {"kDistancePairs", pairs.size()},
                           {"kDistanceGeoms", model.distance_geoms.size()},
                           {"kMovingDistanceGeoms", count_moving(model, model.distance_geoms)}}) +
         sensors.text() + queries.text() +
         Table("Pairs of these geoms.", "DistancePair", "distance_pair", "kDistancePairs").add_all(pairs).text() +
         emit_geoms(model, model.distance_geoms, "distance_geom", "kDistanceGeoms");
}

}  // namespace drl::robot_compiler

#include <algorithm>

#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

// Returns the place of the parameter by which a geom's radius is multiplied, or -1.
int radius_factor(const RobotModel& model, const SensorGeom& geom) {
  const auto is_its = [&](const Parameter& p) { return p.kind == ModelParameter::size && p.index == geom.geom; };
  const auto found = std::ranges::find_if(model.parameters, is_its);
  return found == model.parameters.end() ? -1 : static_cast<int>(3 * (found - model.parameters.begin()));
}

// `item` is the name of the table's function, and `count` that of its size.
std::string emit_geoms(const RobotModel& model, const std::vector<SensorGeom>& geoms, const std::string& item,
                       const std::string& count) {
  constexpr const char* kKinds[] = {"plane",    "sphere", "capsule", "ellipsoid",
                                    "cylinder", "box",    "mesh",    "height_field"};
  std::string text;
  int moving = 0;
  for (const SensorGeom& geom : geoms) {
    const Placement& place = model.geoms[static_cast<size_t>(geom.geom)];
    const int factor = radius_factor(model, geom);
    const bool moves = place.body >= 0;
    std::vector<double> pose(place.pos.begin(), place.pos.end());
    for (const Numbers3& row : place.turn) pose.insert(pose.end(), row.begin(), row.end());
    text += "        " + remark(place.name) + "\n" +
            wrapped(std::string("{ShapeKind::") + kKinds[geom.kind] + ", " + std::to_string(geom.frame) + ", {" +
                        listed({geom.size[0], geom.size[1], geom.size[2]}) + "}, " +
                        number(geom.bound * (factor < 0 ? 1 : ModelParameter::kMostGrowth)) + ", " +
                        std::to_string(geom.data) + ", " + std::to_string(moves ? moving++ : -1) + ", {" +
                        (moves ? "" : listed(pose)) + "}, " + std::to_string(factor) + "},",
                    "        ");
  }
  return emit_table(
      "  // Geoms: kind, body, size, bound, height field or hull, index among those that move, or pose; the parameter "
      "of\n"
      "  // the radius.\n",
      "SensorGeom", item, count, text);
}
std::string count_moving(const RobotModel& model, const std::vector<SensorGeom>& geoms) {
  const auto moves = [&](const SensorGeom& geom) { return model.geoms[static_cast<size_t>(geom.geom)].body >= 0; };
  return std::to_string(std::ranges::count_if(geoms, moves));
}

}  // namespace

std::string emit_range_finders(const RobotModel& model) {
  std::string text;
  for (const RangeFinder& finder : model.range_finders)
    text += "        {" + std::to_string(finder.frame) + ", " + std::to_string(finder.number) + ", " +
            number(finder.cutoff) + "},\n";
  return wrapped("static constexpr int kRangeFinders = " + std::to_string(model.range_finders.size()) +
                     ", kRayGeoms = " + std::to_string(model.ray_geoms.size()) +
                     ", kMovingRayGeoms = " + count_moving(model, model.ray_geoms) + ";",
                 "  ") +
         emit_table("  // Range finders: their body, the number in MuJoCo's sensordata, the cutoff.\n", "RangeFinder",
                    "range_finder", "kRangeFinders", text) +
         emit_geoms(model, model.ray_geoms, "ray_geom", "kRayGeoms");
}

std::string emit_distance_sensors(const RobotModel& model) {
  constexpr const char* kKinds[] = {"distance", "normal", "segment"};
  std::string sensors, queries, pairs;
  int count = 0;
  for (const Sensor& sensor : model.sensors) {
    if (!sensor.shows_distance()) continue;
    sensors += std::string("        {DistanceSensor::") + kKinds[sensor.kind - Sensor::distance] + ", " +
               std::to_string(sensor.first) + ", " + std::to_string(sensor.index) + "},\n";
    count += 1;
  }
  for (const DistanceQuery& query : model.distance_queries)
    queries += "        {" + std::to_string(query.first) + ", " + std::to_string(query.end) + ", " +
               number(query.most) + "},\n";
  for (const DistancePair& pair : model.distance_pairs)
    pairs += "{" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + "}, ";
  return wrapped("static constexpr int kDistanceSensors = " + std::to_string(count) +
                     ", kDistanceQueries = " + std::to_string(model.distance_queries.size()) +
                     ", kDistancePairs = " + std::to_string(model.distance_pairs.size()) +
                     ", kDistanceGeoms = " + std::to_string(model.distance_geoms.size()) +
                     ", kMovingDistanceGeoms = " + count_moving(model, model.distance_geoms) + ";",
                 "  ") +
         emit_table("  // Sensors of distances: what they show, the number in MuJoCo's sensordata, the query.\n",
                    "DistanceSensor", "distance_sensor", "kDistanceSensors", sensors) +
         emit_table("  // Queries: the first pair and the end of their pairs, the largest distance.\n", "DistanceQuery",
                    "distance_query", "kDistanceQueries", queries) +
         emit_table("  // Pairs of these geoms.\n", "DistancePair", "distance_pair", "kDistancePairs",
                    wrapped(pairs, "        ")) +
         emit_geoms(model, model.distance_geoms, "distance_geom", "kDistanceGeoms");
}

}  // namespace drl::robot_compiler

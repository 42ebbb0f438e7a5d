#include <algorithm>

#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

// Returns the place of the parameter by which a geom's radius is multiplied, or -1.
int radius_factor(const RobotModel& model, const RayGeom& geom) {
  const auto is_its = [&](const Parameter& p) { return p.kind == ModelParameter::size && p.index == geom.geom; };
  const auto found = std::ranges::find_if(model.parameters, is_its);
  return found == model.parameters.end() ? -1 : static_cast<int>(3 * (found - model.parameters.begin()));
}

std::string emit_geoms(const RobotModel& model) {
  constexpr const char* kKinds[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "height_field"};
  std::string text;
  int moving = 0;
  for (const RayGeom& geom : model.ray_geoms) {
    const Placement& place = model.geoms[static_cast<size_t>(geom.geom)];
    const int factor = radius_factor(model, geom);
    const bool moves = place.body >= 0;
    std::vector<double> pose(place.pos.begin(), place.pos.end());
    for (const Numbers3& row : place.turn) pose.insert(pose.end(), row.begin(), row.end());
    text += "        " + remark(place.name) + "\n" +
            wrapped(std::string("{ShapeKind::") + kKinds[geom.kind] + ", " + std::to_string(geom.frame) + ", {" +
                        listed({geom.size[0], geom.size[1], geom.size[2]}) + "}, " +
                        number(geom.bound * (factor < 0 ? 1 : ModelParameter::kMostGrowth)) + ", " +
                        std::to_string(geom.field) + ", " + std::to_string(moves ? moving++ : -1) + ", {" +
                        (moves ? "" : listed(pose)) + "}, " + std::to_string(factor) + "},",
                    "        ");
  }
  return emit_table(
      "  // Geoms that rays may meet: kind, body, size, bound, height field, index among those that move, or pose; "
      "the\n"
      "  // parameter of the radius.\n",
      "RayGeom", "ray_geom", "kRayGeoms", text);
}

}  // namespace

std::string emit_range_finders(const RobotModel& model) {
  std::string text;
  for (const RangeFinder& finder : model.range_finders)
    text += "        {" + std::to_string(finder.frame) + ", " + std::to_string(finder.number) + ", " +
            number(finder.cutoff) + "},\n";
  const auto moves = [&](const RayGeom& geom) { return model.geoms[static_cast<size_t>(geom.geom)].body >= 0; };
  return wrapped("static constexpr int kRangeFinders = " + std::to_string(model.range_finders.size()) +
                     ", kRayGeoms = " + std::to_string(model.ray_geoms.size()) +
                     ", kMovingRayGeoms = " + std::to_string(std::ranges::count_if(model.ray_geoms, moves)) + ";",
                 "  ") +
         emit_table("  // Range finders: their body, the number in MuJoCo's sensordata, the cutoff.\n", "RangeFinder",
                    "range_finder", "kRangeFinders", text) +
         emit_geoms(model);
}

}  // namespace drl::robot_compiler

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Sets the poses of those of these geoms that move.
void set_poses(const RobotModel& model, const std::vector<SensorGeom>& geoms, Program& p) {
  int moving = 0;
  for (const SensorGeom& geom : geoms) {
    const Placement& place = model.geoms[geom.geom];
    if (place.body < 0) continue;
    const BodyPose pose = pose_of(model, place, p);
    p.set(at("geom", moving), pose.pos);
    for (int i = 0; i < 3; ++i) p.set(at("geom", moving), pose.turn[i], 3 + 3 * i);
    moving += 1;
  }
}

}  // namespace

void trace_ranges(const RobotModel& model, Program& p) {
  if (!model.distance_queries.empty()) {
    p.begin("Computes the poses of the geoms that move and whose distances sensors show, from frames.",
            "distance_geoms(const Derived& derived, F (*geom)[12])");
    set_poses(model, model.distance_geoms, p);
  }
  if (model.range_finders.empty()) return;
  p.begin(
      "Computes the rays of range finders, and the poses of the geoms that they may meet and that move, from frames.",
      "range_rays(const F* parameters, const Derived& derived, F (*ray)[6], F (*geom)[12])");
  for (size_t r = 0; r < model.range_finders.size(); ++r) {
    const BodyPose pose = pose_of(model, model.range_finders[r].site, p);
    p.set(at("ray", r), pose.pos), p.set(at("ray", r), pose.turn.column(2), 3);
  }
  set_poses(model, model.ray_geoms, p);
}

}  // namespace drl::robot_compiler

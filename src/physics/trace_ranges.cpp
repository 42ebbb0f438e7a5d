#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// A place and axes in the world.
struct Pose {
  Vec3 pos;
  Mat3 turn;
};
Pose pose_of(const RobotModel& model, const Placement& place, Program& p) {
  const BodyPose body = body_pose(model, place.body, p);
  return {body.pos + body.turn * pos_of(model, place, p), body.turn * turn_of(model, place, p)};
}
// Sets the poses of those of these geoms that move.
void set_poses(const RobotModel& model, const std::vector<SensorGeom>& geoms, Program& p) {
  int moving = 0;
  for (const SensorGeom& geom : geoms) {
    const Placement& place = model.geoms[geom.geom];
    if (place.body < 0) continue;
    const Pose pose = pose_of(model, place, p);
    for (int i = 0; i < 3; ++i) {
      p.set(at("geom", moving, i), pose.pos[i]);
      for (int k = 0; k < 3; ++k) p.set(at("geom", moving, 3 + 3 * i + k), pose.turn[i][k]);
    }
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
      std::string("range_rays(") + (moves_sites(model) ? parameters_argument(model) : "") +
          "const Derived& derived, F (*ray)[6], F (*geom)[12])");
  for (size_t r = 0; r < model.range_finders.size(); ++r) {
    const Pose pose = pose_of(model, model.range_finders[r].site, p);
    for (int k = 0; k < 3; ++k) {
      p.set(at("ray", static_cast<int>(r), k), pose.pos[k]);
      p.set(at("ray", static_cast<int>(r), 3 + k), pose.turn[k][2]);
    }
  }
  set_poses(model, model.ray_geoms, p);
}

}  // namespace drl::robot_compiler

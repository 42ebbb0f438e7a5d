#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// The angular momentum of a frame and all that it carries, about their centre of mass.
Vec3 angular_momentum(const RobotModel& model, const Kinematics& k, int frame, Program& p) {
  std::vector<bool> is_carried(model.frames.size());
  double mass = 0;
  Vec3 moment;
  Spatial about_origin;  // of the tree
  for (size_t f = static_cast<size_t>(frame); f < model.frames.size(); ++f) {
    const Frame& of = model.frames[f];
    is_carried[f] = static_cast<int>(f) == frame || is_carried[static_cast<size_t>(of.parent)];
    if (!is_carried[f]) continue;
    const auto body = static_cast<size_t>(of.body);
    const Vec3 center = k.pos[body] + k.turn[body] * center_of(model, static_cast<int>(f), p);
    const Inertia inertia = inertia_at(of.mass, center, k.turn[body], known(of.inertia));
    mass += of.mass, moment = moment + inertia.moment, about_origin = about_origin + inertia * k.velocity[body];
  }
  return about_origin.angular - cross(Expr(1 / mass) * moment, about_origin.linear);
}

}  // namespace

void trace_sensors(const RobotModel& model, Program& p) {
  if (model.sensors.empty()) return;
  p.begin("Sensors of motion, each in the place of MuJoCo's sensordata.",
          "see_sensors(const F* qpos, const F* qvel, " + own_parameters(model) + "Seen& seen)");
  const Kinematics k = trace_kinematics(model, p);
  for (const Sensor& sensor : model.sensors) {
    if (sensor.kind == Sensor::contact) continue;
    p.section("sensor " + sensor.name);
    Vec3 value;
    if (sensor.kind == Sensor::angular_momentum) {
      value = angular_momentum(model, k, sensor.index, p);
    } else {
      const Mark& site = model.sites[static_cast<size_t>(sensor.index)];
      const auto body = static_cast<size_t>(site.body);
      const Spatial& velocity = k.velocity[body];
      const Vec3 from_origin = k.pos[body] + k.turn[body] * known(site.pos);
      const Vec3 moves = velocity.linear + cross(velocity.angular, from_origin);
      value = transposed(k.turn[body] * known(site.turn)) * (sensor.kind == Sensor::gyro ? velocity.angular : moves);
    }
    for (int c = 0; c < 3; ++c) p.set(at("seen.sensor", sensor.first + c), value[c]);
  }
}

}  // namespace drl::robot_compiler

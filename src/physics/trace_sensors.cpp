#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Computes sensors from the quantities of derive_frames(), derive_centers() and derive_motion().
class Tracer {
 public:
  Tracer(const RobotModel& model, Program& p) : model_(model), p_(p) {}

  // Returns the angular momentum of a frame and its subtree about their centre of mass.
  Vec3 angular_momentum(size_t frame) {
    std::vector<bool> is_carried(model_.frames.size());
    Spatial momentum;  // about the same point as cvel
    for (size_t f = frame; f < model_.frames.size(); ++f) {
      is_carried[f] = f == frame || is_carried[static_cast<size_t>(model_.frames[f].parent)];
      if (is_carried[f]) momentum = momentum + inertia(f) * velocity(f);
    }
    const auto root = static_cast<size_t>(model_.frames[frame].root);
    const Vec3 arm = derived_vector(p_, "subtree_com", frame) - derived_vector(p_, "subtree_com", root);
    return momentum.angular - cross(arm, momentum.linear);
  }

  // Returns the angular and linear velocity of a site in its own axes.
  Spatial motion_of(const Placement& site) {
    const BodyPose body = body_pose(model_, site.body, p_);
    const auto frame = static_cast<size_t>(body.frame), root = static_cast<size_t>(model_.frames[frame].root);
    const Vec3 arm = body.pos + body.turn * known(site.pos) - derived_vector(p_, "subtree_com", root);
    const Mat3 into_site = transposed(body.turn * known(site.turn));
    const Spatial about_center = velocity(frame);
    return {into_site * about_center.angular, into_site * (about_center.linear + cross(about_center.angular, arm))};
  }

 private:
  // cvel and cinert have no entry for the world.
  Spatial velocity(size_t frame) const {
    return {derived_vector(p_, "cvel", frame - 1), derived_vector(p_, "cvel", frame - 1, 3)};
  }
  Inertia inertia(size_t frame) const {
    Inertia inertia{model_.frames[frame].mass, derived_vector(p_, "cinert", frame - 1, 6), {}};
    if (model_.randomised) inertia.mass = derived_number(p_, "cinert", frame - 1, 9);
    for (int c = 0; c < 6; ++c) inertia.rotational[c] = derived_number(p_, "cinert", frame - 1, c);
    return inertia;
  }

  const RobotModel& model_;
  Program& p_;
};

// Returns the position or velocity of a joint, tendon or actuator.
Expr length_of(const RobotModel& model, const Sensor& sensor, const Kinematics& kinematics, Program& p) {
  const auto index = static_cast<size_t>(sensor.index);
  if (sensor.kind == Sensor::joint) {
    const Joint& joint = model.joints[index];
    return sensor.is_velocity ? p.input(at("qvel", joint.dof), "") : p.input(at("qpos", joint.qpos), "");
  }
  const TendonPath path = sensor.kind == Sensor::tendon
                              ? trace_tendon(model, sensor.index, kinematics, p)
                              : trace_transmission(model, model.actuators[index], kinematics, p);
  return sensor.is_velocity ? path.velocity : path.length;
}
// Writes a sensor's number to its place in MuJoCo's sensordata.
void set(const RobotModel& model, int number, const Expr& value, Program& p) {
  const int place = sensor_places(model)[static_cast<size_t>(number)];
  p.set(place < 0 ? at("derived.sensor", number) : at("sensed", place / 4, place % 4), value);
}
void trace_lengths(const RobotModel& model, Program& p) {
  if (!senses_lengths(model)) return;
  const std::string to = model.runge_kutta ? "F (*sensed)[4])" : "Derived& derived)";
  p.begin("Computes sensors of joints, tendons and actuators.", "derive_lengths(const F* qpos, const F* qvel, " + to);
  const Kinematics kinematics = trace_kinematics(model, p);
  for (const Sensor& sensor : model.sensors)
    if (sensor.shows_length()) set(model, sensor.first, length_of(model, sensor, kinematics, p), p);
}

}  // namespace

void trace_sensors(const RobotModel& model, Program& p) {
  if (model.sensors.empty()) return;
  p.begin("Computes motion sensors, in the places of MuJoCo's sensordata, from frames, centres and motion.",
          model.runge_kutta ? "derive_sensors(const Derived& derived, F (*sensed)[4])"
                            : "derive_sensors(Derived& derived)");
  Tracer tracer(model, p);
  for (const Sensor& sensor : model.sensors) {
    if (sensor.kind == Sensor::contact || sensor.shows_length()) continue;
    p.section("sensor " + sensor.name);
    const auto index = static_cast<size_t>(sensor.index);
    Vec3 value;
    if (sensor.kind == Sensor::angular_momentum) {
      value = tracer.angular_momentum(index);
    } else {
      const Spatial motion = tracer.motion_of(model.sites[index]);
      value = sensor.kind == Sensor::gyro ? motion.angular : motion.linear;
    }
    for (int c = 0; c < 3; ++c) set(model, sensor.first + c, value[c], p);
  }
  trace_lengths(model, p);
}

}  // namespace drl::robot_compiler

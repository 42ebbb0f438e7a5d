#include <algorithm>

#include "drl/physics/mujoco_version.hpp"
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
      is_carried[f] = f == frame || is_carried[model_.frames[f].parent];
      if (is_carried[f]) momentum = momentum + derived_inertia(model_, f, p_) * derived_velocity(p_, f);
    }
    const int root = model_.frames[frame].root;
    const Vec3 arm = derived_vector(p_, "subtree_com", frame) - derived_vector(p_, "subtree_com", root);
    return momentum.angular - cross(arm, momentum.linear);
  }

  // Returns the velocity of the centre of mass of a frame and its subtree.
  Vec3 center_velocity(size_t frame) {
    std::vector<bool> is_carried(model_.frames.size());
    Vec3 momentum;
    Expr mass;
    for (size_t f = std::max<size_t>(frame, 1); f < model_.frames.size(); ++f) {
      is_carried[f] = f == frame || frame == 0 || is_carried[model_.frames[f].parent];
      if (!is_carried[f]) continue;
      mass += mass_of(model_, static_cast<int>(f), p_);
      momentum = momentum + (derived_inertia(model_, f, p_) * derived_velocity(p_, f)).linear;
    }
    return (mass.is_known() ? Expr(1 / std::max(mass.value(), 1e-15)) : Expr(1) / mass) * momentum;
  }

  // The values of sensors of objects.
  std::vector<Expr> object(const Sensor& sensor) {
    const BodyPose pose = pose_of(sensor.object);
    const bool is_relative = sensor.reference.frame >= 0;
    const BodyPose reference = is_relative ? pose_of(sensor.reference) : BodyPose{-1, {}, identity()};
    const Mat3 into = transposed(reference.turn);
    Vec3 value;
    switch (sensor.kind) {
      case Sensor::inside:
        return {is_inside(sensor.volume, into * (pose.pos - reference.pos))};
      case Sensor::frame_quaternion: {
        Quat quat = quaternion_of(sensor.object);
        if (is_relative) quat = conjugate(quaternion_of(sensor.reference)) * quat;
        return {quat.begin(), quat.end()};
      }
      case Sensor::magnetometer:
        value = transposed(pose.turn) * known(model_.magnetic_field);
        break;
      case Sensor::frame_position:
        value = into * (pose.pos - reference.pos);
        break;
      case Sensor::frame_axis:
        value = into * pose.turn.column(sensor.axis);
        break;
      default: {
        Spatial motion = motion_in_world(sensor.object, pose);
        if (is_relative) {
          const Spatial of = motion_in_world(sensor.reference, reference);
          motion = motion + Expr(-1) * of;
          motion.linear = motion.linear + cross(pose.pos - reference.pos, of.angular);
        }
        value = into * (sensor.kind == Sensor::frame_velocity ? motion.linear : motion.angular);
      }
    }
    return {value[0], value[1], value[2]};
  }

  // Returns the angular and linear velocity of a site in its own axes.
  Spatial motion_of(const Placement& site) {
    if (site.body < 0) return {};
    const BodyPose body = body_pose(model_, site.body, p_);
    const int frame = body.frame, root = model_.frames[frame].root;
    const Vec3 arm = body.pos + body.turn * pos_of(model_, site, p_) - derived_vector(p_, "subtree_com", root);
    const Mat3 into_site = transposed(body.turn * turn_of(model_, site, p_));
    const Spatial about_center = derived_velocity(p_, frame);
    return {into_site * about_center.angular, into_site * (about_center.linear + cross(about_center.angular, arm))};
  }

 private:
  BodyPose pose_of(const Sensor::Object& object) {
    BodyPose pose = robot_compiler::pose_of(model_, object.place, p_);
    if (object.is_inertial) pose.pos = derived_vector(p_, "xipos", object.frame);
    return pose;
  }
  Quat quaternion_of(const Sensor::Object& object) {
    Quat quat;
    for (int c = 0; c < 4; ++c) quat[c] = derived_number(p_, "xquat", object.frame, c);
    quat = quat * known(object.quat);
    const Quat by = turn_by_parameters(model_, object.place.site, p_);
    return by[0].is_known() ? quat : quat * by;
  }
  Spatial motion_in_world(const Sensor::Object& object, const BodyPose& pose) {
    if (object.place.body < 0) return {};
    const int frame = object.frame, root = model_.frames[frame].root;
    const Spatial about_center = derived_velocity(p_, frame);
    return {about_center.angular,
            about_center.linear + cross(about_center.angular, pose.pos - derived_vector(p_, "subtree_com", root))};
  }
  // Returns 1 if a point, in a volume's axes, is inside the volume, and otherwise 0.
  static Expr is_inside(const Volume& volume, const Vec3& at) {
    const Numbers3& size = volume.size;
    const auto within = [](const Expr& x, double half) { return select_less(max(x, -x), half, 1, 0); };
    switch (volume.kind) {
      case physics::ShapeKind::box:
        return within(at[0], size[0]) * within(at[1], size[1]) * within(at[2], size[2]);
      case physics::ShapeKind::cylinder:
        return select_less(at[0] * at[0] + at[1] * at[1], size[0] * size[0], within(at[2], size[1]), 0);
      case physics::ShapeKind::ellipsoid: {
        const Vec3 scaled{Expr(1 / size[0]) * at[0], Expr(1 / size[1]) * at[1], Expr(1 / size[2]) * at[2]};
        return select_less(dot(scaled, scaled), 1, 1, 0);
      }
      default: {
        Vec3 away = at;  // from the centre of a sphere, or the axis of a capsule
        if (volume.kind == physics::ShapeKind::capsule) away[2] = at[2] - clamp(at[2], -size[1], size[1]);
        return select_less(dot(away, away), size[0] * size[0], 1, 0);
      }
    }
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
std::vector<Expr> ball_of(const RobotModel& model, const Sensor& sensor, Program& p) {
  const Joint& joint = model.joints[sensor.index];
  if (sensor.is_velocity) {
    std::vector<Expr> velocity;
    for (int k = 0; k < 3; ++k) velocity.push_back(p.input(at("qvel", joint.dof + k), ""));
    return velocity;
  }
  const Quat quat = trace_quaternion(joint, p);
  return {quat.begin(), quat.end()};
}
void trace_lengths(const RobotModel& model, Program& p) {
  if (!senses(model, &Sensor::shows_length)) return;
  p.begin("Computes sensors of joints, tendons and actuators.",
          "derive_lengths(const F* qpos, const F* qvel, " + sensors_argument(model));
  const Kinematics kinematics = trace_kinematics(model, p);
  for (const Sensor& sensor : model.sensors)
    if (sensor.kind == Sensor::ball)
      set_sensor(model, sensor, ball_of(model, sensor, p), p);
    else if (sensor.shows_length())
      set_sensor(model, sensor, {length_of(model, sensor, kinematics, p)}, p);
}
// Returns the force of the actuators that a sensor shows.
Expr actuator_force(const RobotModel& model, const Sensor& sensor, Program& p) {
  const auto read = [&](const std::string& array, int k) {
    return p.input(at("derived." + array, k), array + "_" + std::to_string(k));
  };
  if (sensor.kind == Sensor::actuator_force) return read("actuator_force", sensor.index);
  if (sensor.kind == Sensor::joint_force) return read("qfrc_actuator", model.joints[sensor.index].dof);
  Expr sum = 0;
  for (size_t a = 0; a < model.actuators.size(); ++a)
    if (model.actuators[a].pulls(sensor.index)) sum += read("actuator_force", static_cast<int>(a));
  return sum;
}
void trace_accelerations(const RobotModel& model, Program& p) {
  if (!senses(model, &Sensor::shows_acceleration)) return;
  p.begin("Computes sensors of accelerations.",
          "derive_accelerations(const F* qpos, const F* qvel, const F* qacc, const F* parameters, " +
              sensors_argument(model));
  const Kinematics kinematics = trace_kinematics(model, p);
  const std::vector<Spatial> accelerations = accelerations_of(model, kinematics, p);
  for (const Sensor& sensor : model.sensors) {
    if (!sensor.shows_acceleration()) continue;
    const Placement& place = sensor.object.place;
    Vec3 value;
    if (place.body < 0) {
      if (mujoco::kStandingSensorsShowGravity && sensor.kind != Sensor::frame_angular_acceleration)
        value = Expr(-1) * kinematics.gravity;
      if (sensor.kind == Sensor::accelerometer) value = transposed(turn_of(model, place, p)) * value;
    } else {
      const int b = place.body;
      const Vec3 arm = kinematics.point(b, pos_of(model, place, p));
      const Spatial &velocity = kinematics.velocity[b], &acceleration = accelerations[b];
      const Vec3 of_point = velocity.linear + cross(velocity.angular, arm);
      value = sensor.kind == Sensor::frame_angular_acceleration
                  ? acceleration.angular
                  : acceleration.linear + cross(acceleration.angular, arm) + cross(velocity.angular, of_point);
      if (sensor.kind == Sensor::accelerometer)
        value = transposed(kinematics.turn[b] * turn_of(model, place, p)) * value;
    }
    set_sensor(model, sensor, {value[0], value[1], value[2]}, p);
  }
}

void trace_touch_sites(const RobotModel& model, Program& p) {
  if (model.touch_sensors.empty()) return;
  p.begin("Computes the places of touch sensors about the origins of their trees, and their axes.",
          "touch_sites(const F* qpos, const F* parameters, F (*site)[12])");
  const Kinematics kinematics = trace_kinematics(model, p);
  for (size_t t = 0; t < model.touch_sensors.size(); ++t) {
    const Placement& site = model.touch_sensors[t].site;
    const Vec3 place = kinematics.point(site.body, pos_of(model, site, p));
    const Mat3 turn = kinematics.turn[site.body] * turn_of(model, site, p);
    p.set(at("site", t), place);
    for (int k = 0; k < 3; ++k) p.set(at("site", t), turn.column(k), 3 + 3 * k);
  }
}

}  // namespace

std::vector<Expr> qacc_of(const RobotModel& model, const Kinematics& kinematics, Program& p) {
  std::vector<Expr> qacc;
  for (int i = 0; i < model.nv; ++i) qacc.push_back(p.input(at("qacc", i), "qacc_" + std::to_string(i)));
  for (const Joint& joint : model.joints)
    if (joint.kind == Joint::free) {
      const int d = joint.dof + 3;
      const Mat3& turn = kinematics.turn[model.dofs[d].body];
      const Vec3 turned = turn * Vec3{qacc[d], qacc[d + 1], qacc[d + 2]};
      for (int k = 0; k < 3; ++k) qacc[d + k] = turned[k];
    }
  return qacc;
}
std::vector<Spatial> accelerations_of(const RobotModel& model, const Kinematics& kinematics, Program& p) {
  if (p.loops_over_bodies) {
    std::vector<Spatial> of(model.bodies.size());
    for (size_t b = 0; b < of.size(); ++b)
      for (int c = 0; c < 6; ++c) of[b][c] = p.input(at("acceleration_of", b, c), "");
    return of;
  }
  const std::vector<Expr> qacc = qacc_of(model, kinematics, p);
  std::vector<Spatial> of(model.bodies.size());
  for (size_t b = 0; b < of.size(); ++b) {
    if (model.bodies[b].parent >= 0) of[b] = of[model.bodies[b].parent];
    for (size_t i = 0; i < model.dofs.size(); ++i)
      if (model.dofs[i].body == static_cast<int>(b)) of[b] = of[b] + qacc[i] * kinematics.axis[i];
  }
  for (size_t b = 0; b < of.size(); ++b) of[b] = of[b] + kinematics.bias[b];
  return of;
}
void set_sensor(const RobotModel& model, const Sensor& sensor, const std::vector<Expr>& values, Program& p) {
  for (int k = 0; k < sensor.size; ++k) {
    Expr value = values[k];
    if (sensor.cutoff > 0) value = min(value, sensor.cutoff);
    if (sensor.cutoff > 0 && !sensor.is_positive) value = max(value, -sensor.cutoff);
    const int number = sensor.first + k, place = sensor_places(model)[number];
    p.set(place < 0 ? at("derived.sensor", number) : at("sensed", place / 4, place % 4), value);
  }
}

void trace_sensors(const RobotModel& model, Program& p) {
  if (model.sensors.empty()) return;
  p.begin("Computes motion sensors, in the places of MuJoCo's sensordata, from frames, centres and motion.",
          "derive_sensors(const F* parameters, " + derived_and_sensors_argument(model));
  Tracer tracer(model, p);
  for (const Sensor& sensor : model.sensors) {
    if (sensor.has_own_function()) continue;
    p.section("sensor " + sensor.name);
    const auto index = static_cast<size_t>(sensor.index);
    if (sensor.shows_actuators()) {
      set_sensor(model, sensor, {actuator_force(model, sensor, p)}, p);
      continue;
    }
    if (sensor.object.frame >= 0) {
      set_sensor(model, sensor, tracer.object(sensor), p);
      continue;
    }
    Vec3 value;
    if (sensor.kind == Sensor::angular_momentum) {
      value = tracer.angular_momentum(index);
    } else if (sensor.kind == Sensor::center) {
      value = derived_vector(p, "subtree_com", index);
    } else if (sensor.kind == Sensor::center_velocity) {
      value = tracer.center_velocity(index);
    } else {
      const Spatial motion = tracer.motion_of(model.sites[index]);
      value = sensor.kind == Sensor::gyro ? motion.angular : motion.linear;
    }
    set_sensor(model, sensor, {value[0], value[1], value[2]}, p);
  }
  trace_lengths(model, p);
  trace_accelerations(model, p);
  trace_limit_sensors(model, p);
  trace_energies(model, p);
  trace_time(model, p);
  trace_ranges(model, p);
  trace_touch_sites(model, p);
}

}  // namespace drl::robot_compiler

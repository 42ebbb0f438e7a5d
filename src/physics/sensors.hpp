// The sensors of a model.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "drl/physics/shapes.hpp"
#include "physics/placement.hpp"

namespace drl::robot_compiler {

// The volume of a site.
struct Volume {
  physics::ShapeKind kind = physics::ShapeKind::sphere;
  Numbers3 size{};
};
struct Sensor {
  // accelerometer: of a site. The kinds that begin with frame_ show an object, in the axes of the world or of a
  // reference. center and its velocity: of a frame with its descendants. Loads are the force and torque between the
  // object's frame and its parent. inside: whether the object is in the volume of the site `reference`.
  enum Kind {
    gyro,
    velocimeter,
    magnetometer,
    accelerometer,
    frame_position,
    frame_quaternion,
    frame_axis,
    frame_velocity,
    frame_turning,
    frame_acceleration,
    frame_angular_acceleration,
    center,
    center_velocity,
    angular_momentum,
    contact,
    touch,
    load_force,
    load_torque,
    joint,
    ball,
    tendon,
    actuator,
    actuator_force,
    joint_force,
    tendon_force,
    limit_position,
    limit_velocity,
    limit_force,
    range,
    inside,
    potential_energy,
    kinetic_energy,
    time,
    distance,
    normal,
    segment
  } kind = gyro;
  bool is_velocity = false;  // of a joint, ball, tendon or actuator; otherwise it shows a position or length
  std::string name;
  int first = 0;  // index of its first value in MuJoCo's sensordata
  // The index of the site, frame, joint, tendon or actuator. A contact sensor, touch sensor, range finder or query of
  // a distance has its index among its kind; a limit has its number among those of joints and tendons, or -1 if off.
  int index = 0;
  int size = 3;  // number of its values
  int axis = 0;  // of frame_axis
  // A body, geom, site or camera. A body's inertial frame has the frame's centre of mass as its place.
  struct Object {
    int frame = -1;  // -1: none
    bool is_inertial = false;
    Placement place{};
    Quaternion quat{1, 0, 0, 0};  // in the frame
  };
  Object object{}, reference{};
  Volume volume{};  // of `inside`
  // The values are clamped to [-cutoff, cutoff], or from above if they are never negative; 0: they are not.
  double cutoff = 0;
  bool is_positive = false;
  bool shows_length() const { return kind == joint || kind == ball || kind == tendon || kind == actuator; }
  bool shows_actuators() const { return kind == actuator_force || kind == joint_force || kind == tendon_force; }
  bool shows_load() const { return kind == load_force || kind == load_torque; }
  // Returns whether it shows forces of the solution. The stage of a step then keeps its values.
  bool shows_forces() const { return kind == contact || kind == touch || kind == limit_force || shows_load(); }
  bool shows_limit() const { return kind == limit_position || kind == limit_velocity; }
  bool shows_distance() const { return kind == distance || kind == normal || kind == segment; }
  bool shows_energy() const { return kind == potential_energy || kind == kinetic_energy; }
  // Returns whether another function than derive_sensors() computes it.
  bool has_own_function() const {
    return shows_forces() || shows_length() || shows_acceleration() || shows_limit() || shows_energy() ||
           shows_distance() || kind == time || kind == range;
  }
  bool shows_acceleration() const {
    return kind == accelerometer || kind == frame_acceleration || kind == frame_angular_acceleration;
  }
};
// The contact sensors that a contact matches, as bits, and those of them for which MuJoCo turns the contact around.
// `order` increases in the order in which MuJoCo lists contacts.
struct SensedContact {
  uint64_t sensors = 0, turned = 0;
  int order = 0;
};

// A contact sensor shows the number of its contacts and fields of one of them, or their net force. `reduce` is
// MuJoCo's: 0 for the first contact, 1 for the deepest, 2 for the one with the largest force, 3 for the net force.
// `data` has MuJoCo's bits of mjtConDataField.
struct ContactSensor {
  int reduce = 0, data = 0;
  int place = 0;                                    // of its first value among those that a stage keeps
  bool needs_axes = false, needs_distance = false;  // of a contact
};
// The volume of a touch sensor.
struct TouchSensor {
  int frame = 0;  // whose contacts it shows
  Placement site{};
  Volume volume{};
  int place = 0;  // of its value among those that a stage keeps
  double cutoff = 0;
};
// A ray along a site's z axis, which does not meet the geoms of the site's own frame.
struct RangeFinder {
  int frame = 0;
  Placement site{};
  int number = 0;  // of its value in MuJoCo's sensordata
  double cutoff = 0;
};
// A geom that rays may meet, or whose distance from others a sensor shows.
struct SensorGeom {
  using enum physics::ShapeKind;
  physics::ShapeKind kind = sphere;
  int geom = 0, frame = 0;  // MuJoCo's
  Numbers3 size{};
  double bound = 0;  // the radius of a sphere around its centre that contains it
  int data = -1;     // index of a height field, or of a mesh or its hull
};
// A mesh that rays may meet: the corners of its triangles.
struct RayMesh {
  int mesh = 0;  // MuJoCo's index
  std::vector<std::array<Numbers3, 3>> triangles{};
};
// The geoms of a pair whose distance a sensor shows: indices into RobotModel::distance_geoms.
struct DistancePair {
  int first = 0, second = 0;
};
// The least distance of the pairs from `first` to end - 1, if it is below `most`.
struct DistanceQuery {
  int first = 0, end = 0;
  double most = 0;
  std::array<int, 4> objects{};  // MuJoCo's types and indices of the two
};
// A sensor that lanes do not compute. It stops only tasks that use it.
struct LackingSensor {
  std::string name, why;
};

}  // namespace drl::robot_compiler

// What the compiler knows of a robot: MuJoCo's model as numbers, with bodies that are welded together as one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace drl::robot_compiler {

using Numbers3 = std::array<double, 3>;
using Rotation = std::array<Numbers3, 3>;  // rows
using Quaternion = std::array<double, 4>;  // w, x, y, z

// How a constraint pulls (MuJoCo, "Computation", solver parameters): its acceleration is -damping v - stiffness d x, of
// the violation x < 0 and its velocity v, and it is as hard as its impedance d says.
struct Softness {
  double stiffness = 0, damping = 0;
  double least = 0, most = 0, width = 0, midpoint = 0;  // of the impedance, over x
  int power = 1;
  bool operator==(const Softness&) const = default;
};

struct Limit {
  double low = 0, high = 0, margin = 0;
  Softness softness{};
};

struct Joint {
  enum Kind { free, slide, hinge } kind = hinge;
  std::string name;
  int qpos = 0, dof = 0;   // where its numbers begin
  Numbers3 axis{}, pos{};  // of a hinge or slide, in its body's frame
  double reference = 0;    // where qpos is 0 in effect
  double stiffness = 0, rest = 0;
  std::optional<Limit> limit{};
  std::optional<std::array<double, 2>> force_range{};  // of all its actuators
};

// It wants no velocity: its acceleration is -damping v, its weight what the impedance makes of it (1 / R), and its
// force at most `most`.
struct DryFriction {
  double most = 0, weight = 0, damping = 0;
};

struct Dof {
  std::string name;
  int body = 0, joint = 0;
  std::vector<int> ancestors = {};  // from the nearest to the root
  double armature = 0, damping = 0, inverse_weight = 0;
  std::optional<DryFriction> friction{};
};

// What moves as one.
struct Body {
  std::string name;
  int parent = 0;  // -1: the world
  int tree = 0;    // its root's number among roots
  Numbers3 pos{};
  Rotation turn{};    // of its frame, in its parent's
  Quaternion quat{};  // the same
  std::vector<int> joints = {};
  double mass = 0;
  Numbers3 center{};
  std::array<double, 6> inertia{};  // about the centre, in the body's axes: xx, yy, zz, xy, xz, yz
};

// A body of the file, as tasks see it.
struct Frame {
  std::string name;
  int body = 0;    // what it is a part of; -1: the world
  int root = 0;    // the frame whose subtree's centre of mass MuJoCo's cvel, cinert and cfrc_ext are about
  int parent = 0;  // frame
  Numbers3 pos{};  // in the body
  Rotation turn{};
  Quaternion quat{};  // the same
  double mass = 0;
  Numbers3 center{};                // in the body
  std::array<double, 6> inertia{};  // about the centre, in the body's axes
};

// A geom's or a site's centre.
struct Mark {
  std::string name;
  int body = 0;
  Numbers3 pos{};
  Rotation turn{};
};

struct Actuator {
  std::string name;
  int joint = 0;
  double gear = 0, gain = 0;
  std::array<double, 3> bias{};  // + x position + x velocity of gear times the joint's
  std::optional<std::array<double, 2>> control_range{}, force_range{};
};

// Friction of an elliptic cone: numbers of residuals (1: none, 3: sliding, 6: spinning and rolling too), and the
// coefficients of these three that no environment changes. `varies`: parameters, of which MuJoCo takes the largest.
struct ConeFriction {
  int dimensions = 1;
  Numbers3 fixed{};
  std::vector<int> varies = {};
};

// A sphere, one end of a capsule, or a corner of a box, above a horizontal plane of the world.
struct FloorContact {
  std::string name;
  int body = 0, frame = 0, geom = 0, plane = 0;  // plane: a geom
  Numbers3 center{};                             // in the body
  std::optional<Numbers3> axis{};                // of the capsule, along which its friction is
  std::optional<Numbers3> corner{};              // from the box's centre: it touches where that is not above it
  double radius = 0, height = 0;                 // of the sphere; of the plane
  double margin = 0, friction = 0;               // no friction: a pyramid whose edges are one
  double weight = 0;                             // what the impedance makes a diagonal of: R = (1 - d) / d weight
  Softness softness{};
  ConeFriction cone{};
  int sensor = -1;  // of its force
};

// A sphere, a capsule or a box that may touch another one.
struct Round {
  std::string name;
  int body = 0, frame = 0;  // body -1: the world
  Numbers3 center{};        // in the body
  Numbers3 half{};          // from the centre to the end of a capsule's axis; 0 of a sphere
  double radius = 0;
  std::optional<Numbers3> box{};  // its half sizes
  Rotation turn{};                // of the box, in the body
};

struct RoundPair {
  int first = 0, second = 0;  // rounds; spheres come before capsules, boxes last
  int edges = 1;              // 1 without friction, else 4 of a pyramid
  double margin = 0, friction = 0, weight = 0;
  Softness softness{};
  ConeFriction cone{};
};

// Numbers that an environment may change, in the order of the lanes' arrays: three each.
struct Parameter {
  enum Kind { friction, center_of_mass } kind = friction;
  int index = 0;  // geom; frame
  Numbers3 start{};
};

struct Sensor {
  enum Kind { gyro, velocimeter, angular_momentum, contact } kind = gyro;
  std::string name;
  int first = 0;  // of its numbers in MuJoCo's sensordata
  int index = 0;  // site; frame; of the contact sensors
  int size() const { return kind == contact ? 4 : 3; }
};

// What a fluid drags at: a body of the file, as the box of its mass and inertia.
struct FluidBox {
  std::string name;
  int frame = 0;
  Rotation turn{};  // of its sides, in the frame's body
  Numbers3 half{};  // of their lengths
};

struct RobotModel {
  std::string name, file;
  std::string id;  // of the file's contents, as model_id says (drl/mujoco_model.hpp)
  int nq = 0, nv = 0;
  double timestep = 0;
  bool runge_kutta = false;         // else Euler
  bool implicit_damping = false;    // in Euler's steps
  bool implicit_actuators = false;  // in these too, as in MuJoCo's implicitfast
  bool elliptic = false;            // friction cones
  double impratio = 1;              // how much harder their friction is
  Numbers3 gravity{};
  double density = 0, viscosity = 0;  // of a fluid all around
  Numbers3 wind{};                    // its velocity
  int trees = 0;
  std::vector<Body> bodies;  // parents before children
  std::vector<Joint> joints;
  std::vector<Dof> dofs;
  std::vector<Frame> frames;  // 0 is the world
  std::vector<Mark> geoms, sites;
  std::vector<Actuator> actuators;
  std::vector<FloorContact> contacts;
  std::vector<Round> rounds;
  std::vector<RoundPair> pairs;       // that MuJoCo looks for contacts of
  std::vector<FluidBox> fluid_boxes;  // none where there is no fluid
  std::vector<Parameter> parameters;
  std::vector<Sensor> sensors;
  std::vector<double> start;  // qpos [nq] of the file
  // What the model uses and the compiler cannot do, each with the element: "tendon 'left': it pulls".
  std::vector<std::string> unsupported;
};

// Throws std::invalid_argument, with MuJoCo's words, if the file cannot be read.
RobotModel read_robot_model(const std::string& file);

}  // namespace drl::robot_compiler

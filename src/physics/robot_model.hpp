// A MuJoCo model in the form that the robot compiler uses. Bodies of the model file that are welded together are one
// Body; each body of the file is a Frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drl/physics/model_constants.hpp"
#include "drl/physics/parameter.hpp"
#include "physics/mesh_hulls.hpp"
#include "physics/placement.hpp"
#include "physics/sensors.hpp"

namespace drl::robot_compiler {

// The solver parameters of a constraint (solref and solimp; MuJoCo, "Computation", solver parameters). For a violation
// x < 0 with velocity v, the constraint's reference acceleration is -damping v - stiffness d(x) x. The impedance d(x)
// also determines the constraint's weight.
struct Softness {
  double stiffness = 0, damping = 0;
  double least = 0, most = 0, width = 0, midpoint = 0;  // of d(x): its values at 0 and beyond `width`, and its shape
  int power = 1;
  bool operator==(const Softness&) const = default;
};

// The force of a spring or a damper against x: linear x + higher[0] x^2 + higher[1] x^3 (MuJoCo, "Computation",
// polynomial forces). Springs have the deflection as x, and dampers the velocity and x |x| instead of x^2.
struct ForceProfile {
  double linear = 0;
  std::array<double, 2> higher{};
  bool is_linear() const { return higher == std::array<double, 2>{}; }
  bool is_zero() const { return linear == 0 && is_linear(); }
};

struct Limit {
  double low = 0, high = 0, margin = 0;
  Softness softness{};
};

struct Joint {
  enum Kind { free, ball, slide, hinge } kind = hinge;
  std::string name;
  int qpos = 0, dof = 0;                               // indices of its first values in qpos and qvel
  Numbers3 axis{}, pos{};                              // of a hinge or slide, in its body's frame
  double reference = 0;                                // the value of qpos in the model's reference pose
  ForceProfile stiffness{};                            // of its spring
  double rest = 0;                                     // qpos at rest
  Numbers3 rest_pos{};                                 // the same of a free joint
  Quaternion rest_quat{};                              // of a free joint or a ball
  std::optional<Limit> limit{};                        // of a hinge or slide
  bool carries_weight = false;                         // its actuators exert the force of gravity compensation
  std::optional<std::array<double, 2>> force_range{};  // of the total force of its actuators
  int positions() const { return kind == free ? 7 : kind == ball ? 4 : 1; }  // number of its values in qpos
  int motions() const { return kind == free ? 6 : kind == ball ? 3 : 1; }    // number of its degrees of freedom
  bool turns_freely() const { return kind == free || kind == ball; }
  int quat() const { return qpos + (kind == free ? 3 : 0); }  // index of its quaternion in qpos
};

// A constraint that drives a velocity to 0: its reference acceleration is -damping v, its weight is 1 / R, where
// R is MuJoCo's regularisation, and its force is at most `most`.
struct DryFriction {
  double most = 0, weight = 0, damping = 0;
};

// An equality constraint. Its rows are always active and push in both directions.
struct Equality {
  enum Kind { joint, tendon, connect, weld } kind = joint;
  std::string name;
  Softness softness{};
  // joint: with x = qpos - reference of each joint, x1 is a polynomial of x2, or a constant without a second joint.
  // tendon: the same for their lengths. `joints` holds the indices of joints or of tendons.
  std::array<int, 2> joints{-1, -1};
  std::array<double, 5> polynomial{};
  // connect: two points coincide. weld: two sets of axes coincide.
  struct Side {
    int body = -1, frame = 0;  // body -1: the world
    Numbers3 pos{};            // in the body
    Quaternion quat{1, 0, 0, 0};
  };
  std::array<Side, 2> sides{};
  double torque_scale = 1;                         // of a weld's rows of rotation
  double inverse_weight = 0, inverse_inertia = 0;  // of the rows of translation (or of joints), and of rotation
  std::array<double, 2> weights{}, inertias{};     // of either side: their sums are these
  bool couples_lengths() const { return kind == joint || kind == tendon; }
  int rows() const { return couples_lengths() ? 1 : kind == connect ? 3 : 6; }
};

// A tendon. The length of a fixed tendon is a sum of joints' positions, each times a factor. That of a spatial tendon
// is the sum of its parts. The limit of a ball joint is that of a tendon whose length is the joint's angle.
struct Tendon {
  std::string name;
  struct Term {
    int joint = 0;
    double factor = 0;
  };
  std::vector<Term> terms = {};
  // A straight line from a site to the next one, or the shortest way around a geom that is between them.
  struct Part {
    int from = 0, to = 0;           // sites
    double share = 1;               // 1 / the divisor of its pulley
    int geom = -1, side = -1;       // the geom, and the site on whose side the tendon is; -1: none
    bool is_around_sphere = false;  // otherwise around a cylinder
    double radius = 0;              // of the geom
  };
  std::vector<Part> path = {};
  int ball = -1;  // index of a joint, or -1
  ForceProfile stiffness{}, damping{};
  double armature = 0;
  std::array<double, 2> rest{};  // the lengths between which its spring is slack
  double reference = 0;          // its length in the model's reference pose
  double inverse_weight = 0;
  std::optional<Limit> limit{};
  std::optional<DryFriction> friction{};
  std::optional<std::array<double, 2>> force_range{};  // of the total force of its actuators
  bool has_rows() const { return limit || friction; }
};

struct Dof {
  std::string name;
  int body = 0, joint = 0;
  // Degrees of freedom from the parent to the root. Where equality constraints couple bodies, the solver's matrix has
  // entries with others too, and these are among the ancestors; their indices decrease. The ancestors of an ancestor
  // follow it.
  std::vector<int> ancestors = {};
  double armature = 0, inverse_weight = 0;
  ForceProfile damping{};
  std::optional<DryFriction> friction{};
  bool is_simple = false;  // libmujoco's M has no other entry in its row
};

// A rigid body: one or more frames that move together.
struct Body {
  std::string name;
  int parent = 0;  // -1: the world
  int tree = 0;    // index of its root among all roots
  Numbers3 pos{};
  Rotation turn{};    // of its frame, relative to its parent's frame
  Quaternion quat{};  // the same rotation
  std::vector<int> joints = {};
  double mass = 0;
  Numbers3 center{};
  std::array<double, 6> inertia{};  // about the centre, in the body's axes: xx, yy, zz, xy, xz, yz
};

// A body of the model file. Tasks use frames, not Bodies.
struct Frame {
  std::string name;
  int body = 0;    // the Body that it belongs to; -1: the world
  int root = 0;    // index of the root of its tree; cvel, cinert and cfrc_ext are about the root's subtree_com
  int parent = 0;  // index of the parent frame
  Numbers3 pos{};  // in the body
  Rotation turn{};
  Quaternion quat{};  // the same rotation
  double mass = 0;
  double gravity_compensation = 0;  // the share of its weight that a force at its centre of mass balances
  Numbers3 center{};                // in the body
  std::array<double, 6> inertia{};  // about the centre, in the body's axes
};

// A muscle (MuJoCo, "Modeling", muscles). Its length and velocity are made dimensionless: the length by
// from + (length - start) / unit, the velocity by its division by unit * fastest.
struct Muscle {
  double from = 0, start = 0, unit = 1;
  double force = 0, shortest = 0, longest = 0, fastest = 0, passive = 0, lengthening = 0;
  bool divides_by_acceleration = false;  // the force is in inverse proportion to MuJoCo's actuator_acc0
};

struct Actuator {
  std::string name;
  // joint: a hinge or a slide. site: a force and a torque in the site's axes, or, with a reference site, in that site's
  // axes. free_in_body, free_in_world: a free joint's force, and its torque in the axes of its body or of the world.
  // ball_in_body, ball_in_parent: a ball joint's torque. slider_crank: the position of a slider, which moves along the
  // z axis of the site `reference`; a rod connects it with the site `from`. body: the normals of the body's contacts
  // (drl/physics/adhesion.hpp).
  enum Transmission {
    joint,
    tendon,
    site,
    free_in_body,
    free_in_world,
    ball_in_body,
    ball_in_parent,
    slider_crank,
    body
  } acts_on = joint;
  int target = 0;   // index of the joint, tendon, site or frame
  double gear = 0;  // of a joint, tendon or slider
  double rod = 0;   // length of a slider-crank's rod
  std::array<double, 6> gears{};
  double circle = 0;  // the length of a full turn, if the error of a position servo is the shortest way around
  struct Site {
    int site = -1, frame = 0;
    Quaternion quat{};  // in its frame
  };
  Site from{}, reference{};  // of the transmissions `site` and `slider_crank`; a site -1: none
  // The force is gain * control + bias, or gain * activation + bias. Gain and bias are affine (constant, and factors of
  // the actuator's length and velocity), or those of a muscle.
  std::array<double, 3> gain{}, bias{};
  std::optional<Muscle> muscle_gain{}, muscle_bias{};
  // The activation's rate of change: the control (integrator), its difference from the activation divided by
  // `times[0]` (filters), that of a muscle with the times of activation and deactivation and the width of the
  // transition between them, or 0.
  enum Dynamics { constant, integrator, filter, exact_filter, muscle } dynamics = constant;
  int activation = -1;  // its index, or -1
  std::array<double, 3> times{};
  bool is_early = false;  // the force is that of the next activation
  std::optional<std::array<double, 2>> activation_range{};
  std::optional<std::array<double, 2>> control_range{}, force_range{};
  bool is_damped() const { return gain[2] != 0 || bias[2] != 0 || muscle_gain; }
  bool pulls(int t) const { return acts_on == tendon && target == t; }
};

// Friction of a contact. `dimensions` is the number of residuals (1: no friction, 3: sliding, 4: also spinning,
// 6: also rolling). `fixed` holds the largest of the constant coefficients. `varies` holds the indices, in the
// parameters, of those that an environment may change. As in MuJoCo, the largest coefficient of all is used.
struct ConeFriction {
  int dimensions = 1;
  Numbers3 fixed{};
  std::vector<int> varies = {};
  double second_sliding = 0, second_rolling = 0;  // along the second tangent, and about it, if they differ; otherwise 0
};

// A sphere, one end of a capsule, or a corner of a box that may touch a horizontal plane of the world.
struct FloorContact {
  std::string name;
  int body = 0, frame = 0, geom = 0, plane = 0;  // geom, plane: geom indices
  Numbers3 center{};                             // in the body
  std::optional<Numbers3> axis{};                // direction of a capsule, along which its first tangent lies
  std::optional<Numbers3> corner{};  // relative to the box's centre; a corner above the centre does not touch
  double radius = 0, height = 0;     // of the sphere; of the plane
  double margin = 0, friction = 0;   // friction 0: all edges of the pyramid are equal
  double weight = 0;                 // the regularisation is R = weight * (1 - d) / d
  double weight_without_friction = 0;
  Softness softness{};
  ConeFriction cone{};
  SensedContact sensed{};
};

// A geom that may touch another one.
struct PairGeom {
  using enum physics::ShapeKind;
  physics::ShapeKind kind = sphere;
  std::string name;
  int geom = 0;               // MuJoCo's index
  int body = 0, frame = 0;    // body -1: the world
  Numbers3 center{};          // in the body
  Numbers3 half{};            // from the centre to the upper end of a capsule's axis; 0 for other geoms
  double radius = 0;          // of a sphere or capsule
  double inverse_weight = 0;  // of its body
  double bound = 0;           // radius of a sphere around the geom's centre that contains it; 0 for a plane
  Numbers3 size{};            // MuJoCo's sizes
  Numbers3 extent{};          // half sizes of a box around the centre that contains the geom
  Rotation turn{};            // in the body
  int hull = -1;              // of a mesh: index into RobotModel::hulls; of a height field: into height_fields
  bool is_turned() const { return kind != sphere && kind != capsule; }
};

// A height field of the model. Its heights are not part of the compiled robot (drl/physics/height_map.hpp).
struct HeightField {
  int index = 0;  // MuJoCo's
  int rows = 0, columns = 0;
  std::array<double, 4> size{};  // hfield_size
};

struct GeomPair {
  int first = 0, second = 0;  // indices into pair_geoms, in the order of ShapeKind; a height field is first
  int edges = 1;              // of a pyramid: 1 without friction, else 4, 6 or 10; 0 for an elliptic cone
  double margin = 0, friction = 0, weight = 0, weight_without_friction = 0;  // as in FloorContact
  double relative_weight = 0, relative_weight_without_friction = 0;          // for inverse weights whose sum is 1
  Softness softness{};
  ConeFriction cone{};
  double friction_damping = -1;  // of the rows across the normal in an elliptic cone; negative: as `softness`
  uint32_t adhesions = 0;        // bits of the actuators that adhere to the contacts
  double gap = 0;                // `margin` includes it; contacts that are farther apart than margin - gap do not push
  SensedContact sensed{};
  int place = 0;   // of a ground pair: the first of its places
  int places = 0;  // of a ground pair with a height field: their number
};

// Pairs that follow each other in RobotModel::pairs, none of which touches while the centres of two geoms are further
// apart than `reach`. If the first geom is a plane, the distance is that of the second geom's centre from it.
struct PairGroup {
  int first = 0, second = 0;
  double reach = 0;
  std::ptrdiff_t end = 0;  // index behind the group's last pair, not counting ground pairs
};
// Beyond this number of pairs, they are in groups, and the header has a short table of them.
constexpr size_t kMostPairsInFull = 1000;

// The number of places for contacts between geoms that move, and that of all contacts that ground pairs can have. A
// lane with more contacts counts as not solved.
struct PairPlaces {
  int contacts = 0, ground = 0;
};

// MuJoCo's noslip solver, which computes the forces of friction once more after each solution: the most sweeps over
// them, and the decrease of the cost (not scaled by the inertia) below which it stops.
struct Noslip {
  int iterations = 0;
  double tolerance = 0;
};

// What libmujoco's random motion says about contacts that may be too stiff for float (physics/stiffness.hpp): the
// stiffness of the stiffest one that occurred, and float's error in all but one in a hundred steps with contacts.
struct FloatTrial {
  double stiffest = 0, error = 0;
};

// Three values of the model that an environment may change. Each lane's array of parameters has these values in the
// order of RobotModel::parameters.
struct Parameter {
  ModelParameter::Kind kind = ModelParameter::friction;
  int index = 0;  // MuJoCo's
  Numbers3 start{};
};

// A plane of the world, which rays meet: its pose, and half sizes along x and y, or 0.
struct WorldPlane {
  Numbers3 pos{};
  Rotation turn{};
  double width = 0, length = 0;
};

// For the forces of a fluid, a body of the model file is represented by the box with the same mass and inertia.
struct FluidBox {
  std::string name;
  int frame = 0;
  Rotation turn{};  // of the box, in the frame's body
  Numbers3 half{};  // half sizes
};

// A state that the file names.
struct Keyframe {
  std::string name;
  std::vector<double> qpos, qvel, ctrl, act;  // [nq], [nv], [nu], [na]
};

// A kind of feature that cannot be compiled, and the model's elements that have it.
struct Unsupported {
  std::string what;                // "a plugin"
  std::set<std::string> elements;  // "joint 'hip': "
  std::vector<std::string> lines;  // one for each element: "body 'hip': a plugin"
};

// The numbers that MuJoCo derives from masses and the like (drl/physics/model_constants.hpp), of robots whose
// environments differ in these. They follow the parameters.
struct DerivedConstants {
  // body_translation, body_rotation: of a body of the file, as index. dof, tendon, actuator: MuJoCo's index.
  enum Of { body_translation, body_rotation, dof, tendon, actuator, inertia, growth };
  std::vector<std::pair<Of, int>> of;
  std::vector<physics::ModelConstant> how;
  std::vector<physics::ReferenceBody> bodies;
  std::vector<physics::ReferenceDof> dofs;
  std::vector<physics::ReferenceTendon> tendons;
  std::vector<double> rows;  // [rows, nv]
  int entries = 0;           // of M
};

struct RobotModel {
  std::string name, file;
  std::string id;              // of the file's contents (see model_id in drl/physics/mujoco_model.hpp)
  int nq = 0, nv = 0, na = 0;  // na: activations
  double timestep = 0;
  int iterations = 0;               // after which the file's solver stops; lanes iterate until convergence
  bool runge_kutta = false;         // otherwise Euler, implicitfast or implicit
  bool turns_stages = false;        // Runge-Kutta's stages are combined along rotations
  bool implicit_damping = false;    // steps treat the damping of joints implicitly
  bool implicit_actuators = false;  // they treat the damping of actuators implicitly too, as implicitfast does
  bool implicit_turning = false;    // and gyroscopic forces too, as implicit does
  // The bodies of free joints that no other joint moves, if only these are integrated as with implicit_turning.
  std::vector<int> turning_bodies;
  bool turns_implicitly(int body) const {
    return implicit_turning || std::find(turning_bodies.begin(), turning_bodies.end(), body) != turning_bodies.end();
  }
  bool elliptic = false;         // friction cones are elliptic, otherwise pyramidal
  double impratio = 1;           // ratio of frictional to normal impedance
  std::optional<Noslip> noslip;  // if anything has friction
  Numbers3 gravity{}, magnetic_field{};
  double density = 0, viscosity = 0;  // of the surrounding fluid
  Numbers3 wind{};                    // velocity of the fluid
  int trees = 0;
  std::vector<Body> bodies;  // parents before children
  std::vector<Joint> joints;
  std::vector<Dof> dofs;
  std::vector<Tendon> tendons;
  std::vector<Equality> equalities;  // those that are active
  std::vector<Frame> frames;         // 0 is the world
  std::vector<Placement> geoms, sites;
  std::vector<WorldPlane> planes;
  std::vector<Actuator> actuators;
  std::vector<FloorContact> contacts;
  std::vector<PairGeom> pair_geoms;
  std::vector<MeshHull> hulls;          // of the meshes among them
  bool multiccd = false;                // the model has this flag, and pairs whose contacts depend on it
  bool planes_touch_faces = false;      // of meshes
  std::map<int, MeshFaces> hull_faces;  // by hull: of those whose faces decide their contacts with this flag
  std::vector<HeightField> height_fields;
  std::vector<GeomPair> pairs;  // those that MuJoCo checks for contacts
  // The first of them: a geom of the world and one of a body, whose contacts add to the body's equations of motion. The
  // others have rows along qvel.
  size_t ground_pairs = 0;
  std::vector<PairGroup> pair_groups;  // of the others; empty if there are few pairs
  double convex_tolerance = 0;         // m, of the distance of convex shapes without a closed form
  int convex_iterations = 0;
  PairPlaces pair_places;                 // that a lane has for the contacts of pairs
  std::optional<FloatTrial> float_trial;  // if it decides whether lanes compute in double
  std::vector<FluidBox> fluid_boxes;      // empty without a fluid
  std::vector<Parameter> parameters;
  DerivedConstants constants;
  bool randomised = false;  // options may change all numbers that drl/physics/model_quantities.hpp lists
  std::vector<Sensor> sensors;
  std::vector<ContactSensor> contact_sensors;
  std::vector<TouchSensor> touch_sensors;
  std::vector<RangeFinder> range_finders;
  std::vector<SensorGeom> ray_geoms;  // that some of these may meet
  std::vector<RayMesh> ray_meshes;    // of these geoms
  std::vector<SensorGeom> distance_geoms;
  std::vector<DistancePair> distance_pairs;
  std::vector<DistanceQuery> distance_queries;
  std::vector<LackingSensor> lacking_sensors;
  std::vector<Keyframe> keyframes;       // those with names
  std::vector<double> start;             // initial qpos [nq]
  std::vector<Unsupported> unsupported;  // in the order in which they were found
  std::vector<std::string> warnings;     // of MuJoCo's compiler
};

// Adds an element with a feature that cannot be compiled. `detail` ends the element's line; it does not distinguish
// kinds.
void add_unsupported(RobotModel& robot, const std::string& element, const std::string& what,
                     const std::string& detail = "");
// Returns the lines of all kinds.
std::vector<std::string> unsupported_lines(const RobotModel& robot);

// Throws std::invalid_argument, with MuJoCo's message, if the file cannot be read. If `places` is not 0, lanes have
// room for that many contacts between geoms. If `randomised`, environments may change all numbers that options may
// change, not only those that the file lists.
RobotModel read_robot_model(const std::string& file, int places = 0, bool randomised = false);

}  // namespace drl::robot_compiler

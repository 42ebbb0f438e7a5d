// The passes that trace a robot's physics as expressions: MuJoCo's forward dynamics (mujoco.readthedocs.io,
// "Computation") for one model. All quantities are in world axes, relative to the origin of their tree; only the
// origins themselves are in the world. A tree's origin is a point that moves with its root, so that numbers stay small
// wherever the robot is.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "physics/program.hpp"
#include "physics/robot_counts.hpp"
#include "physics/stiffness.hpp"

namespace drl::robot_compiler {

// The positions and velocities of all bodies.
struct Kinematics {
  std::vector<Vec3> origin;       // of each tree, in the world
  std::vector<Mat3> turn;         // of each body
  std::vector<Vec3> pos;          // of each body's frame, from its tree's origin
  std::vector<Spatial> axis;      // of each degree of freedom: the motion that qvel scales
  std::vector<Spatial> before;    // of each degree of freedom: the velocity that turns its axis
  std::vector<Spatial> after;     // the velocity of what its joint moves, of which its own motion is a part
  std::vector<Spatial> velocity;  // of each body
  std::vector<Spatial> bias;      // of each body: its acceleration if qacc is 0, with gravity as an upward acceleration
  std::vector<Expr> qvel;         // in the solver's axes (see trace_kinematics)
  Vec3 gravity;

  // Returns a point of a body relative to the origin of its tree (of the world: to the world's origin).
  Vec3 point(int body, const Vec3& in_body) const { return body < 0 ? in_body : pos[body] + turn[body] * in_body; }
};
// Traces the kinematics from qpos and qvel. MuJoCo gives the angular velocity of a free joint in its body's axes. Here
// it is in world axes (the solver's axes), in which the joint's motions are constant.
Kinematics trace_kinematics(const RobotModel& model, Program& p);
using Quat = std::array<Expr, 4>;
Quat operator*(const Quat& a, const Quat& b);
inline Quat conjugate(const Quat& q) { return {q[0], -q[1], -q[2], -q[3]}; }
// Returns the rotation of a unit quaternion.
Mat3 rotation_of(const Quat& q);
// Returns the orientation of each body, with MuJoCo's sign of the quaternion.
std::vector<Quat> trace_quaternions(const RobotModel& model, Program& p);
// Returns the angle of the vector (x, y) from the x axis, for y >= 0.
Expr arc_tangent(const Expr& y, const Expr& x);
// Returns the normalised quaternion of a free joint or a ball.
Quat trace_quaternion(const Joint& joint, Program& p);
// Returns the axis times the angle of a rotation, which is at most pi.
Vec3 rotation_vector(const Quat& quat);

// Returns the range of a joint with a limit, with an environment's own width and middle.
std::array<Expr, 2> range_of(const RobotModel& model, const Joint& joint, Program& p);

// A point of a body, relative to the origin of its tree (of the world: to the world's origin).
struct BodyPoint {
  int body;
  Vec3 arm;
};
BodyPoint point_of(const Placement& place, const Kinematics& kinematics);
// Return a point's velocity, and its acceleration if qacc is 0, with gravity as an upward acceleration.
Vec3 velocity_of(const Kinematics& kinematics, const BodyPoint& point);
Vec3 acceleration_of(const Kinematics& kinematics, const BodyPoint& point);
// Returns the vector from one point to another.
Vec3 apart(const RobotModel& model, const Kinematics& kinematics, const BodyPoint& from, const BodyPoint& to);

// A symmetric matrix [nv, nv] with the sparsity of a tree: it couples each degree of freedom with itself and its
// ancestors.
struct TreeMatrix {
  std::vector<Expr> diagonal;
  std::vector<std::vector<Expr>> ancestors;  // in the order of Dof::ancestors
};
// A tendon's length and speed, and the derivatives of its length along qvel in the solver's axes.
struct TendonPath {
  Expr length, velocity;
  std::vector<Expr> along;  // [nv]
  // The wrenches on frames if the tendon pushes its ends apart with 1 N, about the origin of each one's tree (of static
  // frames: about that of the world).
  std::vector<std::pair<int, Spatial>> wrenches;
};
TendonPath trace_tendon(const RobotModel& model, int tendon, const Kinematics& kinematics, Program& p);
// Returns the second derivative of a tendon's length if qacc is 0. Its path goes around no geoms.
Expr trace_bend(const RobotModel& model, int tendon, const Kinematics& kinematics);
// Adds strength * along along' to a matrix: at all entries that it has, at those that libmujoco's M has, or at
// those of the integrator's damping: of two degrees of freedom that move the same body, if M has them or it turns
// implicitly.
enum class Entries { all, of_mass, of_damping };
void add_outer_product(const RobotModel& model, const std::vector<Expr>& along, const Expr& strength, Entries entries,
                       TreeMatrix& m);

// Return a spring's or damper's force against x, divided by x, and the derivative of that force by x. `linear` is the
// profile's, as an environment may change it.
Expr strength(const ForceProfile& profile, const Expr& linear, const Expr& x);
Expr slope(const ForceProfile& profile, const Expr& linear, const Expr& x);

struct Dynamics {
  // M. With loops (uses_loops), only what is added to the projections of `push`: the wrench that each degree of freedom
  // needs for a unit acceleration.
  // With loops over bodies (finds_forces_in_loops), a loop computes `push` and the forces that bodies' motions require.
  // These are then not part of `force`; `required` has what is added to them.
  TreeMatrix mass;
  std::vector<Spatial> push, required;
  std::vector<Expr> force;            // of all but the constraints: without constraints, M qacc = force
  std::vector<Expr> actuator_force;   // of each actuator
  std::vector<Expr> actuator_torque;  // along each degree of freedom
  std::vector<Expr> tendon_force;     // of each tendon's spring, damper and actuators; it makes the tendon longer
  TreeMatrix damping;                 // for the integrator
  // Bodies that turn implicitly (RobotModel) also need the derivatives of the forces that accelerations require without
  // qacc, by qvel. They are not symmetric: `turning` has entries (i, ancestor), turning_above has entries (ancestor,
  // i).
  TreeMatrix turning, turning_above;
};
// Returns the expressions that read an entry of an array for each degree of freedom.
std::vector<Expr> read_along_qvel(const RobotModel& model, const std::string& array, Program& p);
// Calls add(tendon, force) for each tendon's limit and dry friction. `array` holds the forces of all rows.
template <class Add>
void for_tendon_rows(const RobotModel& model, const std::string& array, Program& p, const Add& add_force) {
  const auto add = [&](int tendon, int number, const std::string& what) {
    add_force(tendon, p.input(at(array, number), identifier(model.tendons[tendon].name) + what));
  };
  size_t number = limited_joints(model).size();
  for (const int t : limited_tendons(model)) add(t, static_cast<int>(number++), "_tendon_limit");
  number += frictional_dofs(model).size();
  for (const int t : frictional_tendons(model)) add(t, static_cast<int>(number++), "_tendon_friction");
}
// Adds these to a force along qvel in the solver's axes. along_of(tendon) returns the derivatives of a tendon's length.
template <class AlongOf>
void add_tendon_forces(const RobotModel& model, const std::string& array, const AlongOf& along_of, Program& p,
                       std::vector<Expr>& force) {
  for_tendon_rows(model, array, p, [&](int tendon, const Expr& pull) {
    const std::vector<Expr> along = along_of(tendon);
    for (size_t i = 0; i < force.size(); ++i) force[i] += along[i] * pull;
  });
}
// Writes the rates of change of the activations, and the activations after a time step.
void trace_activations(const RobotModel& model, Program& p);
// Returns an actuator's length, its velocity, and the derivatives of its length along qvel in the solver's axes.
TendonPath trace_transmission(const RobotModel& model, const Actuator& actuator, const Kinematics& kinematics,
                              Program& p);
// Adds the forces of the actuators.
void trace_actuators(const RobotModel& model, const Kinematics& kinematics, Dynamics& d, Program& p);
Dynamics trace_dynamics(const RobotModel& model, const Kinematics& kinematics, Program& p);
// Returns number `k` of a parameter of an environment, or ModelParameter::unchanged if the model has no such parameter.
Expr parameter(const RobotModel& model, ModelParameter::Kind kind, int index, int k, Program& p);
// Returns the ratio of a derived constant to that of the model's file, 1 if environments do not change it.
Expr constant_ratio(const RobotModel& model, DerivedConstants::Of of, int index, Program& p);
// Return a frame's centre of mass in its body, its mass and its inertia, including what an environment's parameters
// change.
Vec3 center_of(const RobotModel& model, int frame, Program& p);
Expr mass_of(const RobotModel& model, int frame, Program& p);
Symmetric inertia_of(const RobotModel& model, int frame, Program& p);
// Returns whether environments push a frame.
bool is_pushed(const RobotModel& model, int frame);
// Returns the torque about the origin and the force of a push on a frame, whose centre of mass is at `center`.
Spatial push_on(const RobotModel& model, int frame, const Vec3& center, Program& p);
// Return the position and the axes of a geom or site in its body, including what an environment's parameters change.
Vec3 pos_of(const RobotModel& model, const Placement& place, Program& p);
Mat3 turn_of(const RobotModel& model, const Placement& place, Program& p);
// Returns the rotation by which an environment's parameters turn a site about its own axes.
Quat turn_by_parameters(const RobotModel& model, int site, Program& p);

// M = L'DL (Featherstone, section 6.5). L has M's sparsity and ones on its diagonal.
struct TreeFactors {
  std::vector<std::vector<Expr>> ancestors;  // of L
  std::vector<Expr> inverse;                 // of D
};
TreeFactors factor_tree(const RobotModel& model, TreeMatrix m);
// solve_up() returns L'^-1 x, the first half of M^-1 x; solve_down() returns L^-1 D^-1 x, the second half.
std::vector<Expr> solve_up(const RobotModel& model, const TreeFactors& factors, std::vector<Expr> x);
std::vector<Expr> solve_down(const RobotModel& model, const TreeFactors& factors, std::vector<Expr> x);
inline std::vector<Expr> solve_tree(const RobotModel& model, const TreeMatrix& m, const std::vector<Expr>& x) {
  const TreeFactors factors = factor_tree(model, m);
  return solve_down(model, factors, solve_up(model, factors, x));
}
// Returns M x.
std::vector<Expr> multiply_tree(const RobotModel& model, const TreeMatrix& m, const std::vector<Expr>& x);

// Returns whether loops over tables can compute the motions and forces of bodies (drl/physics/tree_motion.hpp): those
// of robots with long chains whose environments change no parameters, and whose bodies move in all directions. (For
// robots in a plane, the code without loops is smaller.)
bool can_loop_over_bodies(const RobotModel& model);
// Lets later functions begin with these loops if they use what the loops compute; trace_kinematics() then returns
// read_kinematics(), the expressions that read it.
void begin_loops(const RobotModel& model, Program& p);
Kinematics read_kinematics(const RobotModel& model, Program& p);
// Returns whether loops also compute the forces that bodies' motions require. The integrator implicit needs their
// derivatives, for which there are no loops.
inline bool finds_forces_in_loops(const RobotModel& model, const Program& p) {
  return p.loops_over_bodies && !model.implicit_turning;
}
// Calls these loops, and subtracts these forces from those of the work.
void find_forces_in_loops(const RobotModel& model, const Dynamics& dynamics, Program& p);
// Stores the force of each degree of freedom in the work, even a known one, so that loops can change it.
std::vector<Expr> keep_forces_for_loops(const RobotModel& model, const std::vector<Expr>& force, Program& p);
// Copies the axes of a loop to the work.
std::vector<Spatial> keep_axes_of_loops(const Kinematics& kinematics, Program& p);
// Returns whether loops also add up the wrenches of contacts, which is so if all their components are stored.
inline bool loops_over_wrenches(const Program& p) { return p.loops_over_bodies && count_numbers(p.wrench_places) == 6; }
// Calls the loop that computes the forces of contacts along qvel, and returns the expressions that read them.
std::vector<Expr> forces_of_contacts_in_loops(const RobotModel& model, const std::string& axis,
                                              const std::string& wrench, Program& p);

// Adds each body's value to its parent's, from the leaves to the roots.
template <class T>
void gather_from_children(const RobotModel& model, std::vector<T>& of) {
  for (size_t k = model.bodies.size(); k-- > 0;) {
    const int parent = model.bodies[k].parent;
    if (parent >= 0) of[parent] = of[parent] + of[k];
  }
}

// The rows of an equality constraint: the amounts by which they are violated, and these amounts' derivatives along qvel
// in the solver's axes [rows, nv].
struct EqualityRows {
  std::vector<Expr> violation;
  std::vector<std::vector<Expr>> along;
  std::vector<Expr> bend;  // the amounts' second derivatives if qacc is 0; empty where libmujoco leaves them out
};
// What a weld's rows of rotation are made of: the three imaginary parts of the quaternion that turns the second set of
// axes into the first, q = q2* q1. Their derivative along a turn w of the first relative to the second is that of
// q2* w q1 / 2 = (q2* w q2) q / 2.
struct WeldTurn {
  Expr real;
  Mat3 into_second;
  Vec3 imaginary;
  Expr scale, half;  // of the torque, and half of it

  // Returns the torque on the first body in world axes, by forces along the rows.
  Vec3 torque(const Vec3& rows) const {
    return transposed(into_second) * (half * (real * rows + cross(imaginary, rows)));
  }
};
WeldTurn turns_along(const Equality& equality, const std::vector<Quat>& quats);
EqualityRows trace_equality(const RobotModel& model, const Equality& equality, const Kinematics& kinematics,
                            Program& p);
// Returns the derivative of an equality constraint's polynomial by the second position or length, relative to its
// reference.
Expr slope_of_second(const Equality& equality, const Expr& x);

// The values that smooth() keeps for later functions. An equality constraint with the rows J, the weights W and the
// residuals J qacc + r pushes with -J' W (J qacc + r). This is linear in qacc, so J' W J is part of the solver's matrix
// and -J' W r part of the force.
struct Kept {
  std::vector<Spatial> axis;
  TreeMatrix mass;                                // M plus what equality constraints add
  TreeMatrix mass_alone;                          // M; only with implicit damping or the noslip solver
  std::vector<Expr> force;                        // without limits, dry friction and contacts
  TreeMatrix damping;                             // only with implicit damping; the entries (i, ancestor)
  TreeMatrix damping_above;                       // the entries (ancestor, i), if they differ (integrator implicit)
  std::vector<std::vector<Expr>> tendon_along;    // of each tendon with rows, in the solver's axes
  std::vector<std::vector<Expr>> equality_along;  // of each row of an equality constraint, in the solver's axes
  std::map<int, Mat3> free_turns;                 // by the index of a free joint
  // For the contact of the current loop iteration: the centre of its sphere, the distance from the plane, the direction
  // of friction, and the motion of its body.
  Vec3 center;
  Expr distance, along_x, along_y;
  Spatial velocity;
};

// The number of terms that contacts add to a body's equations of motion: 21 of a symmetric [6, 6] matrix and 6 of a
// force.
constexpr int kCouplings = 27;

// Each of these passes traces one part of a robot's header; trace() calls them in the header's order. trace_smooth()
// also traces limits, dry friction and the positions of contacts.
Kept trace_smooth(const RobotModel& model, Program& p);
// Adds equality constraints to M and to the force.
void trace_equalities(const RobotModel& model, const Kinematics& kinematics, TreeMatrix& mass, std::vector<Expr>& force,
                      Kept& kept, Program& p);
void trace_equality_forces(const RobotModel& model, const Kept& kept, Program& p);
void trace_constraints(const RobotModel& model, const Kept& kept, Program& p);
void trace_tendon_rows(const RobotModel& model, const Kept& kept, Program& p);
// Returns an entry of qvel as a linear combination of entries in the solver's axes: their indices and factors.
std::vector<std::pair<size_t, Expr>> in_solver(const RobotModel& model, const Kept& kept, int dof);
// Returns the derivatives of a tendon's length.
const std::vector<Expr>& along_of(const RobotModel& model, const Kept& kept, int tendon);
void trace_integrator(const RobotModel& model, const Kept& kept, Program& p);
void trace_derived(const RobotModel& model, Program& p);
// The position and rotation of a body's axes in the world, for functions that run after derive_frames().
struct BodyPose {
  int frame;  // a frame with the same axes
  Vec3 pos;
  Mat3 turn;
};
BodyPose body_pose(const RobotModel& model, int body, Program& p);
// Returns the pose of a geom or site in the world, for the same functions; `frame` is that of its body.
BodyPose pose_of(const RobotModel& model, const Placement& place, Program& p);
// Return the expressions that read derived.array[k][c], and three such numbers from `first` on.
Expr derived_number(Program& p, const std::string& array, size_t k, int c);
Vec3 derived_vector(Program& p, const std::string& array, size_t k, int first = 0);
// Return a frame's cvel and cinert, which have no entry for the world.
Spatial derived_velocity(Program& p, size_t frame);
Inertia derived_inertia(const RobotModel& model, size_t frame, Program& p);
void trace_sensors(const RobotModel& model, Program& p);
// Returns qacc in the solver's axes.
std::vector<Expr> qacc_of(const RobotModel& model, const Kinematics& kinematics, Program& p);
// Returns the accelerations of bodies about their trees' origins, with gravity as an upward acceleration.
std::vector<Spatial> accelerations_of(const RobotModel& model, const Kinematics& kinematics, Program& p);
// Returns the declaration of what the functions write sensors to.
inline std::string sensors_argument(const RobotModel& model) {
  return model.runge_kutta ? "F (*sensed)[4])" : "Derived& derived)";
}
// Does the same for functions that also read derived quantities.
inline std::string derived_and_sensors_argument(const RobotModel& model) {
  return (model.runge_kutta ? "const Derived& derived, " : "const Derived&, ") + sensors_argument(model);
}
// Writes a sensor's values to their places in MuJoCo's sensordata.
void set_sensor(const RobotModel& model, const Sensor& sensor, const std::vector<Expr>& values, Program& p);
// Write the functions for sensors of limits, energies, the time, range finders and distances.
void trace_limit_sensors(const RobotModel& model, Program& p);
void trace_energies(const RobotModel& model, Program& p);
void trace_time(const RobotModel& model, Program& p);
void trace_ranges(const RobotModel& model, Program& p);
// Returns whether a robot's solution is refined (refine() in drl/physics/support.hpp), which needs the stored factors.
inline bool refines(const RobotModel& model) { return has_exact_distances(model) && has_rows_of_pairs(model); }
void trace_unbalanced(const RobotModel& model, const Kept& kept, Program& p);
void trace_distances(const RobotModel& model, Program& p);
// Writes what the noslip solver needs (drl/physics/noslip.hpp).
void trace_noslip(const RobotModel& model, const Kept& kept, Program& p);
inline void trace(const RobotModel& model, Program& p) {
  p.is_wide = needs_double(model);
  if (can_loop_over_bodies(model)) begin_loops(model, p);
  const Kept kept = trace_smooth(model, p);
  trace_constraints(model, kept, p);
  trace_tendon_rows(model, kept, p);
  trace_equality_forces(model, kept, p);
  trace_integrator(model, kept, p);
  trace_activations(model, p);
  trace_derived(model, p);
  trace_sensors(model, p);
  trace_distances(model, p);
  trace_unbalanced(model, kept, p);
  trace_noslip(model, kept, p);
}

// Returns the number of residuals that floor contacts keep in the work.
inline int contact_residuals(const RobotModel& model, const Program& p) {
  return (p.edges == 3 ? 2 : p.edges) * count_pyramids(model);
}
// The impedance d(x) of a constraint (MuJoCo, "Computation", solver parameters), which changes from `least` at x = 0 to
// `most` at |x| = width.
struct Impedance {
  Expr least, most, width, midpoint;
  int power;  // 1 or 2
};
Expr impedance(const Impedance& curve, const Expr& x);

// Writes the entries that are not 0 to a matrix of drl/physics/trees.hpp, which begins at this place of an array, or
// adds them.
void add_to_tree(const TreeMatrix& matrix, const std::string& array, int first, bool adds, Program& p);
// Returns the text of where M alone begins in the work, for those loops.
inline std::string mass_alone_in_loops(const RobotModel& model, const Program& p) {
  const int entries = tree_entries(model);
  return p.places("mass") > entries ? "w.mass + " + std::to_string(entries) : "w.mass";
}

inline Symmetric known(const std::array<double, 6>& i) { return {i[0], i[1], i[2], i[3], i[4], i[5]}; }
inline Vec3 known(const Numbers3& x) { return {x[0], x[1], x[2]}; }
inline Quat known(const Quaternion& q) { return {q[0], q[1], q[2], q[3]}; }
inline Mat3 known(const Rotation& r) { return {known(r[0]), known(r[1]), known(r[2])}; }

}  // namespace drl::robot_compiler

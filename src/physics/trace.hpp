// The passes that write a robot's physics down as expressions: MuJoCo's forward dynamics (mujoco.readthedocs.io,
// "Computation") for one model. All but the positions of trees is about their origins and in the world's axes: the
// origin of a tree is a point that its root carries along, so that numbers stay small wherever the robot is.
#pragma once

#include <map>
#include <vector>

#include "physics/program.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {

// Where bodies are and how they move.
struct Kinematics {
  std::vector<Vec3> origin;       // of each tree, in the world
  std::vector<Mat3> turn;         // of each body
  std::vector<Vec3> pos;          // of its frame, from its tree's origin
  std::vector<Spatial> axis;      // of each number of qvel: the motion that it is a multiple of
  std::vector<Spatial> velocity;  // of each body
  std::vector<Spatial> bias;      // its acceleration where qacc is 0, with gravity as an acceleration upwards
  std::vector<Expr> qvel;         // in the solver's axes, below
};
// From qpos and qvel. The turning of a free joint is about its body's axes in MuJoCo, and about the world's here, where
// its motions are constants: the solver's axes.
Kinematics trace_kinematics(const RobotModel& model, Program& p);
// Of a quaternion of length 1.
Mat3 rotation_of(const Expr (&q)[4]);

// A symmetric matrix [nv, nv] with the sparsity of a tree: of each number of qvel with itself and those that carry it.
struct TreeMatrix {
  std::vector<Expr> diagonal;
  std::vector<std::vector<Expr>> ancestors;  // as Dof::ancestors orders them
};
struct Dynamics {
  TreeMatrix mass;
  std::vector<Expr> force;            // of all but constraints: M qacc = force
  std::vector<Expr> actuator_force;   // each actuator's
  std::vector<Expr> actuator_torque;  // along each number of qvel
  std::vector<Expr> damping;          // of each, as the integrator takes it
};
Dynamics trace_dynamics(const RobotModel& model, const Kinematics& kinematics, Program& p);
// A frame's centre of mass in its body, where environments may shift it.
Vec3 center_of(const RobotModel& model, int frame, Program& p);

// M = L'DL (Featherstone, section 6.5), where L has M's sparsity and ones on its diagonal.
struct TreeFactors {
  std::vector<std::vector<Expr>> ancestors;  // of L
  std::vector<Expr> inverse;                 // of D
};
TreeFactors factor_tree(const RobotModel& model, TreeMatrix m);
// L'^-1 x, the first half of M^-1 x, and L^-1 D^-1 x, the second.
std::vector<Expr> solve_up(const RobotModel& model, const TreeFactors& factors, std::vector<Expr> x);
std::vector<Expr> solve_down(const RobotModel& model, const TreeFactors& factors, std::vector<Expr> x);
inline std::vector<Expr> solve_tree(const RobotModel& model, const TreeMatrix& m, const std::vector<Expr>& x) {
  const TreeFactors factors = factor_tree(model, m);
  return solve_down(model, factors, solve_up(model, factors, x));
}
// M x.
std::vector<Expr> multiply_tree(const RobotModel& model, const TreeMatrix& m, const std::vector<Expr>& x);

// Adds each body's to its parent's, from the leaves on.
template <class T>
void gather_from_children(const RobotModel& model, std::vector<T>& of) {
  for (size_t k = model.bodies.size(); k-- > 0;) {
    const int parent = model.bodies[k].parent;
    if (parent >= 0) of[static_cast<size_t>(parent)] = of[static_cast<size_t>(parent)] + of[k];
  }
}

// What smooth() keeps for the functions behind it.
struct Kept {
  std::vector<Spatial> axis;
  TreeMatrix mass;
  std::vector<Expr> force, damping;
  std::map<int, Mat3> free_turns;  // by the number of a free joint
  // Of the contact at hand: the centre of its sphere, how far that is above the plane, the direction of its friction,
  // and the motion of its body.
  Vec3 center;
  Expr distance, along_x, along_y;
  Spatial velocity;
};

// Of a body, what contacts add to the equations of its motion: the stiffness [6, 6], symmetric, and the force.
constexpr int kCouplings = 27;

// The pieces of a robot's header, in its order.
Kept trace_smooth(const RobotModel& model, Program& p);  // with limits and where contacts are
void trace_constraints(const RobotModel& model, const Kept& kept, Program& p);
void trace_integrator(const RobotModel& model, const Kept& kept, Program& p);
void trace_seen(const RobotModel& model, Program& p);
// In functions behind see_frames(), from what that has seen: where a body's axes begin in the world, and its rotation.
struct SeenBody {
  int frame;  // that has its axes
  Vec3 pos;
  Mat3 turn;
};
SeenBody see_body(const RobotModel& model, int body, Program& p);
Expr seen_number(Program& p, const std::string& array, size_t k, int c);
Vec3 seen_vector(Program& p, const std::string& array, size_t k, int first = 0);
void trace_sensors(const RobotModel& model, Program& p);
// Whether a robot's solution is refined, which needs factors that are kept.
inline bool refines(const RobotModel& model) { return count_cones(model) > 0 && !model.pairs.empty(); }
void trace_unbalanced(const RobotModel& model, const Kept& kept, Program& p);
void trace_distances(const RobotModel& model, Program& p);
inline void trace(const RobotModel& model, Program& p) {
  const Kept kept = trace_smooth(model, p);
  trace_constraints(model, kept, p);
  trace_integrator(model, kept, p);
  trace_seen(model, p);
  trace_sensors(model, p);
  trace_distances(model, p);
  trace_unbalanced(model, kept, p);
}

// How many residuals contacts with the floor keep in the work.
inline int contact_residuals(const RobotModel& model, const Program& p) {
  return (p.edges == 3 ? 2 : p.edges) * count_pyramids(model);
}
// The argument of functions that depend on what environments change; nothing if they change nothing.
inline std::string own_parameters(const RobotModel& model) { return model.parameters.empty() ? "" : "const F* own, "; }

// The impedance d(x) of a constraint (MuJoCo, "Computation", solver parameters): from `least` at x = 0 to `most` at the
// width.
struct Impedance {
  Expr least, most, width, midpoint;
  int power;  // 1 or 2
};
Expr impedance(const Impedance& curve, const Expr& x);

inline Symmetric known(const std::array<double, 6>& i) { return {i[0], i[1], i[2], i[3], i[4], i[5]}; }
inline Vec3 known(const Numbers3& x) { return {x[0], x[1], x[2]}; }
inline Mat3 known(const Rotation& r) { return {known(r[0]), known(r[1]), known(r[2])}; }

}  // namespace drl::robot_compiler

#include "drl/physics/mujoco_version.hpp"
#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

int tree_of(const RobotModel& model, const Equality::Side& side) {
  return side.body < 0 ? -1 : model.bodies[side.body].tree;
}
Vec3 origin_of(int tree, const Kinematics& kinematics) { return tree < 0 ? Vec3{} : kinematics.origin[tree]; }
// A joint's position or a tendon's length, relative to the reference pose, and its derivatives.
struct Length {
  Expr length;
  std::vector<Expr> along;
};
Length length_of(const RobotModel& model, const Equality& equality, size_t side, const Kinematics& kinematics,
                 Program& p) {
  const int index = equality.joints[side];
  if (equality.kind == Equality::tendon) {
    const TendonPath path = trace_tendon(model, index, kinematics, p);
    return {path.length - Expr(model.tendons[index].reference), path.along};
  }
  const Joint& joint = model.joints[index];
  std::vector<Expr> along(model.dofs.size());
  along[joint.dof] = 1;
  return {p.input(at("qpos", joint.qpos), "") - Expr(joint.reference), along};
}
void trace_lengths(const RobotModel& model, const Equality& equality, const Kinematics& kinematics, EqualityRows& rows,
                   Program& p) {
  const auto& a = equality.polynomial;
  auto [violation, along] = length_of(model, equality, 0, kinematics, p);
  violation -= Expr(a[0]);
  if (equality.joints[1] >= 0) {
    const auto [x, other] = length_of(model, equality, 1, kinematics, p);
    violation -= x * (Expr(a[1]) + x * (Expr(a[2]) + x * (Expr(a[3]) + x * Expr(a[4]))));
    const Expr slope = slope_of_second(equality, x);
    for (size_t i = 0; i < along.size(); ++i) along[i] -= slope * other[i];
  }
  rows.violation = {violation}, rows.along = {along};
}
// Returns the rows of two sets of axes that coincide.
void trace_turns(const RobotModel& model, const Equality& equality, const Kinematics& kinematics, EqualityRows& rows,
                 Program& p) {
  const WeldTurn turns = turns_along(equality, trace_quaternions(model, p));
  const auto& [apart, into_second, imaginary, scale, half] = turns;
  std::vector<Expr> along[3];
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    Vec3 turn;
    if (moves(model, i, equality.sides[0].body)) turn = turn + kinematics.axis[i].angular;
    if (moves(model, i, equality.sides[1].body)) turn = turn - kinematics.axis[i].angular;
    turn = into_second * turn;
    const Vec3 change = apart * turn + cross(turn, imaginary);
    for (int k = 0; k < 3; ++k) along[k].push_back(half * change[k]);
  }
  for (int k = 0; k < 3; ++k) rows.violation.push_back(scale * imaginary[k]), rows.along.push_back(along[k]);
  if (!mujoco::kEqualitiesBend) return;
  // With w = q2* w q2 from now on, q' = w q / 2 and q'' = w' q / 2 - |w|^2 q / 4.
  const auto motion_of = [&](const Equality::Side& side) {
    return side.body < 0 ? Spatial{} : kinematics.velocity[side.body];
  };
  const auto bias_of = [&](const Equality::Side& side) {
    return side.body < 0 ? Vec3{} : kinematics.bias[side.body].angular;
  };
  const Vec3 by_second = motion_of(equality.sides[1]).angular;
  const Vec3 w = motion_of(equality.sides[0]).angular - by_second;
  const Vec3 change = into_second * (bias_of(equality.sides[0]) - bias_of(equality.sides[1]) - cross(by_second, w));
  const Vec3 bend = half * (apart * change + cross(change, imaginary)) + (Expr(-0.25) * scale * dot(w, w)) * imaginary;
  for (int k = 0; k < 3; ++k) rows.bend.push_back(bend[k]);
}
void trace_points(const RobotModel& model, const Equality& equality, const Kinematics& kinematics, EqualityRows& rows) {
  const auto& [first, second] = equality.sides;
  const Vec3 arms[] = {kinematics.point(first.body, known(first.pos)),
                       kinematics.point(second.body, known(second.pos))};
  const int trees[] = {tree_of(model, first), tree_of(model, second)};
  Vec3 apart = arms[0] - arms[1];
  if (trees[0] != trees[1]) apart = apart + (origin_of(trees[0], kinematics) - origin_of(trees[1], kinematics));
  std::vector<Expr> along[3];
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    const Spatial& axis = kinematics.axis[i];
    Vec3 move;
    if (moves(model, i, first.body)) move = move + (axis.linear + cross(axis.angular, arms[0]));
    if (moves(model, i, second.body)) move = move - (axis.linear + cross(axis.angular, arms[1]));
    for (int k = 0; k < 3; ++k) along[k].push_back(move[k]);
  }
  for (int k = 0; k < 3; ++k) rows.violation.push_back(apart[k]), rows.along.push_back(along[k]);
  if (!mujoco::kEqualitiesBend) return;
  const Vec3 bend =
      acceleration_of(kinematics, {first.body, arms[0]}) - acceleration_of(kinematics, {second.body, arms[1]});
  for (int k = 0; k < 3; ++k) rows.bend.push_back(bend[k]);
}

// Adds a row's weight * along along' to the matrix, and its force at zero acceleration to the force.
void add_row(const RobotModel& model, const std::vector<Expr>& along, const Expr& weight, const Expr& rest,
             TreeMatrix& mass, std::vector<Expr>& force) {
  add_outer_product(model, along, weight, Entries::all, mass);
  for (size_t i = 0; i < along.size(); ++i)
    if (!along[i].is(0)) force[i] -= weight * along[i] * rest;
}

// Returns the inverse weight of the rows of translation (or of joints), or of rotation.
Expr inverse_weight_of(const RobotModel& model, const Equality& equality, bool translates, Program& p) {
  using Of = DerivedConstants;
  const double in_file = translates ? equality.inverse_weight : equality.inverse_inertia;
  if (model.constants.of.empty()) return in_file;
  Expr sum = 0;
  for (size_t k = 0; k < 2; ++k) {
    const int j = equality.joints[k];
    const Expr ratio =
        !equality.couples_lengths()
            ? constant_ratio(model, translates ? Of::body_translation : Of::body_rotation, equality.sides[k].frame, p)
        : j < 0                            ? Expr(0)
        : equality.kind == Equality::joint ? constant_ratio(model, Of::dof, model.joints[j].dof, p)
                                           : constant_ratio(model, Of::tendon, j, p);
    sum += Expr(translates ? equality.weights[k] : equality.inertias[k]) * ratio;
  }
  return sum;
}

}  // namespace

Expr slope_of_second(const Equality& equality, const Expr& x) {
  const auto& a = equality.polynomial;
  return Expr(a[1]) + x * (Expr(2 * a[2]) + x * (Expr(3 * a[3]) + x * Expr(4 * a[4])));
}

WeldTurn turns_along(const Equality& equality, const std::vector<Quat>& quats) {
  const auto quat_of = [&](const Equality::Side& side) {
    return side.body < 0 ? known(side.quat) : quats[side.body] * known(side.quat);
  };
  const Quat first = quat_of(equality.sides[0]), second = quat_of(equality.sides[1]);
  const Quat apart = conjugate(second) * first;
  return {apart[0],
          transposed(rotation_of(second)),
          {apart[1], apart[2], apart[3]},
          equality.torque_scale,
          0.5 * equality.torque_scale};
}

EqualityRows trace_equality(const RobotModel& model, const Equality& equality, const Kinematics& kinematics,
                            Program& p) {
  EqualityRows rows;
  if (equality.couples_lengths()) {
    trace_lengths(model, equality, kinematics, rows, p);
    return rows;
  }
  trace_points(model, equality, kinematics, rows);
  if (equality.kind == Equality::weld) trace_turns(model, equality, kinematics, rows, p);
  return rows;
}

void trace_equalities(const RobotModel& model, const Kinematics& kinematics, TreeMatrix& mass, std::vector<Expr>& force,
                      Kept& kept, Program& p) {
  int number = 0;
  for (const Equality& equality : model.equalities) {
    p.section("equality constraint " + equality.name);
    const std::string name = identifier(equality.name) + "_equality";
    const EqualityRows rows = trace_equality(model, equality, kinematics, p);
    Expr size = rows.violation[0];
    if (rows.violation.size() > 1) {
      Expr square = 0;
      for (const Expr& x : rows.violation) square += x * x;
      size = sqrt(square);
    }
    const Softness& s = equality.softness;
    const Expr d = p.named(impedance({s.least, s.most, s.width, s.midpoint, s.power}, size), name + "_impedance");
    const Expr strength = d / (Expr(1) - d);
    for (size_t r = 0; r < rows.violation.size(); ++r) {
      const Expr weight = strength / inverse_weight_of(model, equality, r < 3, p);
      Expr velocity = 0;
      for (size_t i = 0; i < model.dofs.size(); ++i) velocity += rows.along[r][i] * kinematics.qvel[i];
      Expr rest = Expr(s.damping) * velocity + Expr(s.stiffness) * (d * rows.violation[r]);
      if (!rows.bend.empty()) rest += rows.bend[r];
      add_row(model, rows.along[r], weight, rest, mass, force);
      // For the row's own force.
      const std::string place = at("w.equality", number++);
      p.set(place + ".weight", p.named(weight, name + "_weight")),
          p.set(place + ".rest", p.named(rest, name + "_rest"));
      kept.equality_along.emplace_back();
      for (size_t i = 0; i < model.dofs.size(); ++i)
        kept.equality_along.back().push_back(
            p.keep("equality_along", rows.along[r][i], name + "_along_" + identifier(model.dofs[i].name)));
    }
  }
}

void trace_equality_forces(const RobotModel& model, const Kept& kept, Program& p) {
  if (model.equalities.empty()) return;
  p.begin("Computes the forces along the rows of equality constraints.", "equality_forces(Work& w, const F* qacc)");
  for (size_t r = 0; r < kept.equality_along.size(); ++r) {
    const std::string place = at("w.equality", r);
    Expr residual = p.input(place + ".rest", "rest");
    const std::vector<Expr> qacc = read_along_qvel(model, "qacc", p);
    for (size_t i = 0; i < qacc.size(); ++i) residual += kept.equality_along[r][i] * qacc[i];
    p.set(place + ".push", -(p.input(place + ".weight", "weight") * residual));
  }
}

}  // namespace drl::robot_compiler

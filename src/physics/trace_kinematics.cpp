#include <algorithm>
#include <numbers>

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Rodrigues' formula.
Mat3 rotation_about(const Vec3& axis, const Expr& sine, const Expr& cosine) {
  const Mat3 turned = cross_matrix(axis);
  Mat3 r;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      const Expr square = axis[i] * axis[k];
      r[i][k] = i == k ? cosine * (Expr(1) - square) + square : square - cosine * square + sine * turned[i][k];
    }
  return r;
}

class Tracer {
 public:
  Tracer(const RobotModel& model, Program& p) : model_(model), p_(p) {
    for (const Joint& joint : model.joints)
      for (int k = 0; k < joint.positions(); ++k)
        qpos_.push_back(p.input(at("qpos", joint.qpos + k), "qpos_" + identifier(joint.name) +
                                                                (joint.turns_freely() ? "_" + std::to_string(k) : "")));
    for (int k = 0; k < model.nv; ++k)
      k_.qvel.push_back(p.input(at("qvel", k), "qvel_" + identifier(model.dofs[k].name)));
    k_.axis.resize(model.nv), k_.before.resize(model.nv), k_.after.resize(model.nv);
    k_.origin.resize(model.trees);
    for (int k = 0; k < 3; ++k)
      k_.gravity[k] = Expr(model.gravity[k]) + parameter(model, ModelParameter::gravity, 0, k, p);
  }

  Kinematics trace() {
    for (const Body& body : model_.bodies) {
      const std::string name = identifier(body.name);
      p_.section(body.name + ": position and motion");
      begin(body);
      for (const int j : body.joints) add(body, model_.joints[j]);
      k_.turn.push_back(p_.named(turn_, name));
      k_.pos.push_back(p_.named(pos_, name + "_pos"));
      k_.velocity.push_back(p_.named(velocity_, name));
      k_.bias.push_back(p_.named(bias_, name + "_bias"));
    }
    return k_;
  }

 private:
  // Starts from the parent's motion, before the body's own joints.
  void begin(const Body& body) {
    turns_ = false;
    if (body.parent < 0) {
      turn_ = known(body.turn), pos_ = {}, velocity_ = {}, bias_ = {};
      for (int k = 0; k < 3; ++k) bias_.linear[k] = -k_.gravity[k];
      k_.origin[body.tree] = known(body.pos);
      return;
    }
    const int parent = body.parent;
    turn_ = k_.turn[parent] * known(body.turn);
    pos_ = k_.point(parent, known(body.pos));
    velocity_ = k_.velocity[parent], bias_ = k_.bias[parent];
  }

  void add(const Body& body, const Joint& joint) {
    if (joint.kind == Joint::free) return add_free(body, joint);
    if (joint.kind == Joint::ball) return add_ball(joint);
    const int dof = joint.dof;
    const std::string name = identifier(joint.name);
    const Expr moved = qpos_[joint.qpos] - Expr(joint.reference);
    const Vec3 axis = known(joint.axis), world_axis = turn_ * axis;
    Spatial& motion = k_.axis[dof];
    if (joint.kind == Joint::slide) {
      motion = {{}, world_axis};
      // A root's slides before its first hinge move the tree's origin.
      Vec3& place = body.parent < 0 && !turns_ ? k_.origin[body.tree] : pos_;
      place = place + moved * world_axis;
    } else {
      turns_ = true;
      const Vec3 anchor = pos_ + turn_ * known(joint.pos);
      motion = p_.named(Spatial{world_axis, cross(anchor, world_axis)}, name + "_axis");
      const Expr sine = p_.named(sin(moved), name + "_sin"), cosine = p_.named(cos(moved), name + "_cos");
      turn_ = turn_ * rotation_about(axis, sine, cosine);
      const Numbers3 none{};
      if (joint.pos != none) pos_ = anchor - turn_ * known(joint.pos);
    }
    bias_ = bias_ + k_.qvel[dof] * cross_motion(velocity_, motion);
    k_.before[dof] = velocity_;
    velocity_ = velocity_ + k_.qvel[dof] * motion;
    k_.after[dof] = velocity_;
  }

  // The axes of a ball's motions are those of its body, as in MuJoCo.
  void add_ball(const Joint& joint) {
    turns_ = true;
    const int d = joint.dof;
    const Vec3 anchor = pos_ + turn_ * known(joint.pos);
    const Quat q = trace_quaternion(joint, p_);
    turn_ = p_.named(turn_ * rotation_of(q), identifier(joint.name) + "_turn");
    const Numbers3 none{};
    if (joint.pos != none) pos_ = anchor - turn_ * known(joint.pos);
    Spatial motion;
    for (size_t k = 0; k < 3; ++k) {
      const Vec3 axis = turn_.column(static_cast<int>(k));
      k_.axis[d + k] = p_.named(Spatial{axis, cross(anchor, axis)}, identifier(joint.name) + "_axis");
      motion = motion + k_.qvel[d + k] * k_.axis[d + k];
    }
    bias_ = bias_ + cross_motion(velocity_, motion);
    for (size_t k = 0; k < 3; ++k) k_.before[d + k] = velocity_, k_.after[d + k] = velocity_ + motion;
    velocity_ = velocity_ + motion;
  }

  void add_free(const Body& body, const Joint& joint) {
    const int q = joint.qpos, d = joint.dof;
    k_.origin[body.tree] = {qpos_[q], qpos_[q + 1], qpos_[q + 2]};
    const Expr *quat = &qpos_[q + 3],
               inverse = Expr(1) / sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
    turn_ = rotation_of({inverse * quat[0], inverse * quat[1], inverse * quat[2], inverse * quat[3]});
    velocity_.linear = {k_.qvel[d], k_.qvel[d + 1], k_.qvel[d + 2]};
    velocity_.angular = turn_ * Vec3{k_.qvel[d + 3], k_.qvel[d + 4], k_.qvel[d + 5]};
    bias_.linear = bias_.linear + cross(velocity_.linear, velocity_.angular);
    for (int k = 0; k < 3; ++k) {
      k_.axis[d + k].linear = unit_vector(k);
      k_.axis[d + 3 + k].angular = unit_vector(k);
      k_.qvel[d + 3 + k] = velocity_.angular[k];
    }
    const Spatial straight{{}, velocity_.linear};
    for (size_t k = 0; k < 3; ++k) k_.after[d + k] = k_.before[d + 3 + k] = straight, k_.after[d + 3 + k] = velocity_;
  }

  const RobotModel& model_;
  Program& p_;
  std::vector<Expr> qpos_;
  Kinematics k_;
  // The pose and motion of the current body.
  Mat3 turn_;
  Vec3 pos_;
  Spatial velocity_, bias_;
  bool turns_ = false;  // whether the body has a hinge before the current joint
};

}  // namespace

Mat3 rotation_of(const Quat& q) {
  const auto& [w, x, y, z] = q;
  const Expr one = 1, two = 2;
  return {Vec3{one - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)},
          Vec3{two * (x * y + w * z), one - two * (x * x + z * z), two * (y * z - w * x)},
          Vec3{two * (x * z - w * y), two * (y * z + w * x), one - two * (x * x + y * y)}};
}

Quat operator*(const Quat& a, const Quat& b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}
std::vector<Quat> trace_quaternions(const RobotModel& model, Program& p) {
  std::vector<Quat> quats;
  for (size_t b = 0; b < model.bodies.size() && p.loops_over_bodies; ++b) {
    quats.emplace_back();
    for (int c = 0; c < 4; ++c) quats[b][c] = p.input(at("quats", b, c), "");
  }
  if (p.loops_over_bodies) return quats;
  for (const Body& body : model.bodies) {
    Quat quat = known(body.quat);
    if (body.parent >= 0) quat = quats[body.parent] * quat;
    for (const int j : body.joints) {
      const Joint& joint = model.joints[j];
      const auto qpos = [&](int k) { return p.input(at("qpos", joint.qpos + k), ""); };
      if (joint.kind == Joint::free) {
        const Expr length = sqrt(qpos(3) * qpos(3) + qpos(4) * qpos(4) + qpos(5) * qpos(5) + qpos(6) * qpos(6));
        for (int k = 0; k < 4; ++k) quat[k] = qpos(3 + k) / length;
      } else if (joint.kind == Joint::ball) {
        quat = quat * trace_quaternion(joint, p);
      } else if (joint.kind == Joint::hinge) {
        const Expr half = Expr(0.5) * (qpos(0) - Expr(joint.reference)), sine = sin(half);
        quat =
            quat * Quat{cos(half), sine * Expr(joint.axis[0]), sine * Expr(joint.axis[1]), sine * Expr(joint.axis[2])};
      }
    }
    quats.push_back(quat);
  }
  return quats;
}

// Halves the angle four times by tan(x/2) = tan x / (1 + sqrt(1 + tan^2 x)), so that a short series is exact.
Expr arc_tangent(const Expr& y, const Expr& x) {
  const Expr along = max(x, -x);
  Expr t = y / max(along + sqrt(along * along + y * y), 1e-30);
  for (int k = 0; k < 3; ++k) t = t / (Expr(1) + sqrt(Expr(1) + t * t));
  const Expr square = t * t;
  Expr series = 0;
  for (int power = 15; power > 0; power -= 2) series = Expr((power % 4 == 1 ? 1.0 : -1.0) / power) + square * series;
  const Expr acute = Expr(16) * (t * series);
  return select_less(x, 0, Expr(std::numbers::pi) - acute, acute);
}
Quat trace_quaternion(const Joint& joint, Program& p) {
  Quat q;
  Expr square = 0;
  for (int k = 0; k < 4; ++k) {
    q[k] = p.input(at("qpos", joint.quat() + k), "");
    square += q[k] * q[k];
  }
  const Expr inverse = Expr(1) / sqrt(square);
  for (Expr& x : q) x = inverse * x;
  return q;
}
Vec3 rotation_vector(const Quat& quat) {
  const Vec3 imaginary{quat[1], quat[2], quat[3]};
  const Expr sine = sqrt(dot(imaginary, imaginary)), angle = Expr(2) * arc_tangent(sine, quat[0]);
  const Expr shortest = select_less(std::numbers::pi, angle, angle - Expr(2 * std::numbers::pi), angle);
  return (shortest / max(sine, 1e-15)) * imaginary;
}

BodyPoint point_of(const Placement& place, const Kinematics& kinematics) {
  return {place.body, kinematics.point(place.body, known(place.pos))};
}
Vec3 velocity_of(const Kinematics& kinematics, const BodyPoint& point) {
  if (point.body < 0) return {};
  const Spatial& v = kinematics.velocity[point.body];
  return v.linear + cross(v.angular, point.arm);
}
Vec3 acceleration_of(const Kinematics& kinematics, const BodyPoint& point) {
  if (point.body < 0) return Expr(-1) * kinematics.gravity;
  const Spatial& a = kinematics.bias[point.body];
  return a.linear + cross(a.angular, point.arm) +
         cross(kinematics.velocity[point.body].angular, velocity_of(kinematics, point));
}
Vec3 apart(const RobotModel& model, const Kinematics& kinematics, const BodyPoint& from, const BodyPoint& to) {
  const auto tree_of = [&](const BodyPoint& point) { return point.body < 0 ? -1 : model.bodies[point.body].tree; };
  const auto origin_of = [&](const BodyPoint& point) {
    return point.body < 0 ? Vec3{} : kinematics.origin[tree_of(point)];
  };
  const Vec3 arms = to.arm - from.arm;
  return tree_of(from) == tree_of(to) ? arms : arms + (origin_of(to) - origin_of(from));
}

Kinematics trace_kinematics(const RobotModel& model, Program& p) {
  return p.loops_over_bodies ? read_kinematics(model, p) : Tracer(model, p).trace();
}
bool can_loop_over_bodies(const RobotModel& model) {
  if (!uses_loops(model) || model.randomised || !model.parameters.empty()) return false;
  Program unused;
  unused.begin("", "");
  const std::vector<Spatial> axes = Tracer(model, unused).trace().axis;
  for (int k = 0; k < 6; ++k)
    if (std::ranges::all_of(axes, [&](const Spatial& axis) { return axis[k].is(0); })) return false;
  return true;
}

}  // namespace drl::robot_compiler

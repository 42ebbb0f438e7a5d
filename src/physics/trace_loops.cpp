// Emits calls of loops over tables, instead of equations, for the motions and forces of bodies.
#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Reads what loops over tables compute (begin_loops).
class LoopReader {
 public:
  LoopReader(const RobotModel& model, Program& p) : model_(model), p_(p) {}

  Kinematics read() {
    Kinematics k;
    k.gravity = known(model_.gravity);
    for (size_t b = 0; b < model_.bodies.size(); ++b) {
      const Body& body = model_.bodies[b];
      const int index = static_cast<int>(b);
      Mat3 turn;
      for (int i = 0; i < 3; ++i) turn[i] = vector(at("bodies.turn", index, i));
      k.turn.push_back(turn), k.pos.push_back(vector(at("bodies.pos", index)));
      k.velocity.push_back(spatial(at("motions.velocity", index))),
          k.bias.push_back(spatial(at("motions.bias", index)));
      if (body.parent < 0) k.origin.push_back(vector(at("bodies.origin", body.tree)));
      const bool is_free = body.parent < 0 && model_.joints[body.joints[0]].kind == Joint::free;
      if (is_free) k.pos[b] = {};
    }
    for (int i = 0; i < model_.nv; ++i) k.qvel.push_back(p_.input(at("qvel", i), ""));
    for (const Body& body : model_.bodies) {
      Spatial velocity;
      if (body.parent >= 0) velocity = k.velocity[body.parent];
      for (const int j : body.joints) add(model_.joints[j], k, velocity);
    }
    return k;
  }

 private:
  Vec3 vector(const std::string& array, int first = 0) {
    return {p_.input(at(array, first), ""), p_.input(at(array, first + 1), ""), p_.input(at(array, first + 2), "")};
  }
  Spatial spatial(const std::string& array) { return {vector(array), vector(array, 3)}; }

  // Adds the joint's motion to the velocity before it.
  void add(const Joint& joint, Kinematics& k, Spatial& velocity) {
    const int first = joint.dof, end = first + joint.motions();
    Spatial straight, motion;  // straight: of a free joint
    for (int i = first; i < end; ++i) {
      Spatial axis = spatial(at("bodies.axis", i));
      if (joint.kind == Joint::slide) axis.angular = {};
      if (joint.kind == Joint::free) axis = {}, axis[(i - first + 3) % 6] = 1;
      if (joint.kind == Joint::free && i >= first + 3)
        k.qvel[i] = k.velocity[model_.dofs[i].body].angular[i - first - 3];
      motion = motion + k.qvel[i] * axis;
      if (i < first + 3) straight = motion;
      k.axis.push_back(axis), k.before.push_back(velocity), k.after.emplace_back();
    }
    for (int i = first; i < end; ++i) {
      const bool is_straight = joint.kind == Joint::free && i < first + 3;
      if (joint.kind == Joint::free && !is_straight) k.before[i] = straight;
      k.after[i] = is_straight ? straight : velocity + motion;
    }
    velocity = velocity + motion;
  }

  const RobotModel& model_;
  Program& p_;
};

}  // namespace

void begin_loops(const RobotModel& model, Program& p) {
  const int bodies = static_cast<int>(model.bodies.size()), joints = static_cast<int>(model.joints.size());
  p.loops_over_bodies = true;
  p.provide("bodies", "BodyPoses<F, Sizes> bodies;");
  p.provide("bodies", "place_bodies(qpos, bodies);", 40 * bodies + 100 * joints);
  p.provide("motions", "BodyMotions<F, Sizes> motions;");
  p.provide("motions", "move_bodies(qvel, bodies, motions);", 40 * model.nv);
  p.provide("quats", "F quats[Sizes::kTreeBodies][4];");
  p.provide("quats", "find_quaternions<Sizes>(qpos, quats);", 16 * bodies + 60 * joints);
  p.provide("acceleration_of", "F acceleration_of[Sizes::kTreeBodies][6];");
  p.provide("acceleration_of", "accelerate_bodies(qacc, bodies, motions, acceleration_of);",
            6 * model.nv + 12 * bodies);
}

Kinematics read_kinematics(const RobotModel& model, Program& p) { return LoopReader(model, p).read(); }

std::vector<Expr> forces_of_contacts_in_loops(const RobotModel& model, const std::string& axis,
                                              const std::string& wrench, Program& p) {
  p.before("F of_contacts[Sizes::nv];");
  p.before("project_wrenches<Sizes>(" + axis + ", " + wrench + ", of_contacts);");
  std::vector<Expr> forces;
  for (int i = 0; i < model.nv; ++i) forces.push_back(p.input(at("of_contacts", i), ""));
  return forces;
}

void find_forces_in_loops(const RobotModel& model, const Dynamics& dynamics, Program& p) {
  const int bodies = static_cast<int>(model.bodies.size());
  p.before("TreeInertia<F> inertia[Sizes::kTreeBodies];"), p.before("F required[Sizes::kTreeBodies][6];");
  p.before("find_required_forces(bodies, motions, inertia, required);");
  if (!model.fluid_boxes.empty()) p.before("subtract_fluid_forces(bodies, motions, required);");
  for (int b = 0; b < bodies; ++b)
    for (int c = 0; c < 6; ++c) p.add(at("required", b, c), dynamics.required[b][c]);
  p.after("find_pushes<Sizes>(bodies.axis, inertia, required, push, w.force);", 150 * bodies + 50 * model.nv);
}

std::vector<Expr> keep_forces_for_loops(const RobotModel& model, const std::vector<Expr>& force, Program& p) {
  p.reserve("force", model.nv);
  std::vector<Expr> kept;
  for (int i = 0; i < model.nv; ++i) {
    const std::string place = at("w.force", i);
    p.set(place, force[i]);
    kept.push_back(p.input(place, identifier(model.dofs[i].name) + "_smooth_force"));
  }
  return kept;
}

std::vector<Spatial> keep_axes_of_loops(const Kinematics& kinematics, Program& p) {
  const int nv = static_cast<int>(kinematics.axis.size());
  p.reserve("axis", 6 * nv);
  p.before("for (int k = 0; k < 6 * Sizes::nv; ++k) w.axis[k] = bodies.axis[k / 6][k % 6];");
  std::vector<Spatial> kept = kinematics.axis;
  for (int i = 0; i < nv; ++i)
    for (int c = 0; c < 6; ++c)
      if (Expr& x = kept[i][c]; !x.is_known()) x = p.input(at("w.axis", 6 * i + c), "");
  return kept;
}

}  // namespace drl::robot_compiler

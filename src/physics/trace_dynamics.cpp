#include <algorithm>

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Returns whether environments change the mass of any frame of a body, or shift its centre.
bool has_changing_mass(const RobotModel& model, int body) {
  return std::ranges::any_of(model.parameters, [&](const Parameter& p) {
    return (p.kind == ModelParameter::center_of_mass || p.kind == ModelParameter::mass) &&
           model.frames[p.index].body == body;
  });
}
Inertia inertia_of_frames(const RobotModel& model, const Kinematics& kinematics, int body, Program& p) {
  Inertia sum{};
  for (size_t f = 0; f < model.frames.size(); ++f) {
    const Frame& frame = model.frames[f];
    if (frame.body != body) continue;
    const Vec3 center = kinematics.point(body, center_of(model, static_cast<int>(f), p));
    sum = sum + inertia_at(mass_of(model, static_cast<int>(f), p), center, kinematics.turn[body],
                           inertia_of(model, static_cast<int>(f), p));
  }
  return sum;
}

// Returns the speed of a damper whose force depends on it.
Expr speed_in(const ForceProfile& damping, const Expr& velocity) {
  return damping.is_linear() ? Expr(0) : max(velocity, -velocity);
}

// Adds the force of the spring of a free joint or a ball, whose body has the axes `turn`.
void add_spring(const Joint& joint, const Mat3& turn, std::vector<Expr>& force, Program& p) {
  int dof = joint.dof;
  const auto add = [&](const Vec3& away, const Expr& stiffness) {
    for (int k = 0; k < 3; ++k) force[dof + k] -= stiffness * away[k];
  };
  const auto stiffness_at = [&](const Vec3& away) {
    const ForceProfile& spring = joint.stiffness;
    return strength(spring, spring.linear, spring.is_linear() ? Expr(0) : sqrt(dot(away, away)));
  };
  if (joint.kind == Joint::free) {
    Vec3 away;
    for (int k = 0; k < 3; ++k) away[k] = p.input(at("qpos", joint.qpos + k), "") - Expr(joint.rest_pos[k]);
    add(away, stiffness_at(away));
    dof += 3;
  }
  const Vec3 away = rotation_vector(conjugate(known(joint.rest_quat)) * trace_quaternion(joint, p));
  add(joint.kind == Joint::free ? turn * away : away, stiffness_at(away));
}

// Adds the forces of gravity compensation, from the weights that it carries, to those of actuators or to others.
void add_lift(const RobotModel& model, const Kinematics& kinematics, std::vector<Spatial> lift, Dynamics& d) {
  gather_from_children(model, lift);
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    const bool is_carried = model.joints[model.dofs[i].joint].carries_weight;
    (is_carried ? d.actuator_torque : d.force)[i] -= dot(kinematics.axis[i], lift[model.dofs[i].body]);
  }
}

// Adds the forces of tendons' springs and dampers.
void trace_tendons(const RobotModel& model, const Kinematics& kinematics, Dynamics& d, Program& p) {
  for (size_t t = 0; t < model.tendons.size(); ++t) {
    const Tendon& tendon = model.tendons[t];
    if (tendon.stiffness.is_zero() && tendon.damping.is_zero()) continue;
    const TendonPath path = trace_tendon(model, static_cast<int>(t), kinematics, p);
    const Expr stretch = path.length - clamp(path.length, tendon.rest[0], tendon.rest[1]);
    const ForceProfile &spring = tendon.stiffness, &damping = tendon.damping;
    const Expr speed = speed_in(damping, path.velocity);
    const Expr pull = p.named(
        strength(spring, spring.linear, stretch) * stretch + strength(damping, damping.linear, speed) * path.velocity,
        identifier(tendon.name) + "_tendon_pull");
    for (size_t i = 0; i < path.along.size(); ++i) d.force[i] -= path.along[i] * pull;
    d.tendon_force[t] -= pull;
    if (model.implicit_actuators)
      add_outer_product(model, path.along, slope(damping, damping.linear, speed), Entries::of_damping, d.damping);
  }
}
// Adds the inertia of tendons to M, and the forces that it requires if qacc is 0.
void add_tendon_armature(const RobotModel& model, const Kinematics& kinematics, Dynamics& d, Program& p) {
  for (size_t t = 0; t < model.tendons.size(); ++t) {
    const Expr armature = model.tendons[t].armature;
    if (armature.is(0)) continue;
    const int tendon = static_cast<int>(t);
    const std::vector<Expr> along = trace_tendon(model, tendon, kinematics, p).along;
    const Expr force = armature * trace_bend(model, tendon, kinematics);
    add_outer_product(model, along, armature, Entries::of_mass, d.mass);
    for (size_t i = 0; i < along.size(); ++i) d.force[i] -= along[i] * force;
  }
}

// Returns the force of a fluid on a moving body, about its tree's origin: drag from its density, and viscous resistance
// as on a sphere of the box's mean size (MuJoCo, "Computation", fluid forces, inertia model).
Spatial fluid_force(const RobotModel& model, const FluidBox& box, const Vec3& center, const Mat3& turn,
                    const Spatial& velocity) {
  const Mat3 sides = turn * known(box.turn);
  const Vec3 turning = transposed(sides) * velocity.angular;
  const Vec3 flow = transposed(sides) * (velocity.linear + cross(velocity.angular, center) - known(model.wind));
  const FluidDrag drag = drag_of(model, box);
  const auto against = [&](const Expr& x, size_t k) {
    return -(Expr(drag.linear[k]) + Expr(drag.quadratic[k]) * max(x, -x)) * x;
  };
  Vec3 torque, force;
  for (int k = 0; k < 3; ++k) {
    force[k] = against(flow[k], static_cast<size_t>(3 + k));
    torque[k] = against(turning[k], static_cast<size_t>(k));
  }
  force = sides * force;
  return {sides * torque + cross(center, force), force};
}

// The derivative of the wrench that a body needs without qacc, I a + v x* I v, by the motion S of a degree of freedom.
// The body's acceleration changes by T - v x S, where T depends on the degree of freedom only, and the wrench by
// I T + turn(S): this holds the matrix of turn, column by column.
struct Turning {
  Spatial column[6];
};
Turning turning_of(const Inertia& inertia, const Spatial& velocity) {
  const Spatial momentum = inertia * velocity;
  Turning turning;
  for (int k = 0; k < 6; ++k) {
    Spatial motion;
    motion[k] = 1;
    turning.column[k] = cross_force(motion, momentum) + cross_force(velocity, inertia * motion) +
                        Expr(-1) * (inertia * cross_motion(velocity, motion));
  }
  return turning;
}
Turning operator+(const Turning& a, const Turning& b) {
  Turning sum;
  for (int k = 0; k < 6; ++k) sum.column[k] = a.column[k] + b.column[k];
  return sum;
}
// Writes these derivatives along qvel.
void trace_turning(const RobotModel& model, const Kinematics& kinematics, const std::vector<Inertia>& of_subtrees,
                   std::vector<Turning> turning, Dynamics& d) {
  gather_from_children(model, turning);
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    const Dof& dof = model.dofs[i];
    const int body = dof.body;
    d.turning.ancestors.emplace_back(dof.ancestors.size()),
        d.turning_above.ancestors.emplace_back(dof.ancestors.size());
    d.turning.diagonal.emplace_back();
    if (!model.turns_implicitly(body)) continue;
    const auto of_axis = [&](size_t j) {
      return cross_motion(kinematics.before[j], kinematics.axis[j]) +
             cross_motion(kinematics.after[j], kinematics.axis[j]);
    };
    const Spatial& axis = kinematics.axis[i];
    Spatial wrench = of_subtrees[body] * of_axis(i), row;  // row: turn' axis
    for (int k = 0; k < 6; ++k) {
      wrench = wrench + axis[k] * turning[body].column[k];
      row[k] = dot(turning[body].column[k], axis);
    }
    const Spatial momentum = of_subtrees[body] * axis;
    d.turning.diagonal[i] = dot(axis, wrench);
    for (size_t k = 0; k < dof.ancestors.size(); ++k) {
      const auto a = static_cast<size_t>(dof.ancestors[k]);
      if (!moves(model, a, body)) continue;
      d.turning.ancestors[i][k] = dot(momentum, of_axis(a)) + dot(row, kinematics.axis[a]);
      d.turning_above.ancestors[i][k] = dot(kinematics.axis[a], wrench);
    }
  }
  d.turning_above.diagonal = d.turning.diagonal;
}

}  // namespace

Expr strength(const ForceProfile& profile, const Expr& linear, const Expr& x) {
  if (profile.is_linear()) return linear;
  return linear + x * (Expr(profile.higher[0]) + Expr(profile.higher[1]) * x);
}
Expr slope(const ForceProfile& profile, const Expr& linear, const Expr& x) {
  if (profile.is_linear()) return linear;
  return linear + x * (Expr(2 * profile.higher[0]) + Expr(3 * profile.higher[1]) * x);
}
Expr parameter(const RobotModel& model, ModelParameter::Kind kind, int index, int k, Program& p) {
  for (size_t place = 0; place < model.parameters.size(); ++place)
    if (model.parameters[place].kind == kind && model.parameters[place].index == index)
      return p.input(at("parameters", 3 * place + k), "");
  return ModelParameter::unchanged(kind, k);
}
Expr constant_ratio(const RobotModel& model, DerivedConstants::Of of, int index, Program& p) {
  const int place = place_of_constant(model, of, index);
  return place < 0 ? Expr(1) : p.input(at("parameters", place), "");
}
Vec3 center_of(const RobotModel& model, int frame, Program& p) {
  const Frame& of = model.frames[frame];
  Vec3 center = known(of.center);
  for (size_t k = 0; k < model.parameters.size(); ++k) {
    const Parameter& parameter = model.parameters[k];
    if (parameter.kind != ModelParameter::center_of_mass || parameter.index != frame) continue;
    Vec3 shift;
    for (int c = 0; c < 3; ++c)
      shift[c] = p.input(at("parameters", 3 * k + c), identifier(of.name) + "_shift_" + "xyz"[c]);
    center = center + known(of.turn) * shift;
  }
  return center;
}
Expr mass_of(const RobotModel& model, int frame, Program& p) {
  const Expr mass = model.frames[frame].mass;
  return mass * parameter(model, ModelParameter::mass, frame, 0, p) +
         parameter(model, ModelParameter::mass, frame, 1, p);
}
bool is_pushed(const RobotModel& model, int frame) {
  return std::ranges::any_of(model.parameters,
                             [&](const Parameter& p) { return p.kind == ModelParameter::push && p.index == frame; });
}
Spatial push_on(const RobotModel& model, int frame, const Vec3& center, Program& p) {
  Vec3 force, torque;
  for (int k = 0; k < 3; ++k) {
    force[k] = parameter(model, ModelParameter::push, frame, k, p);
    torque[k] = parameter(model, ModelParameter::push_torque, frame, k, p);
  }
  return Spatial{cross(center, force) + torque, force};
}
Vec3 pos_of(const RobotModel& model, const Placement& place, Program& p) {
  Vec3 shift;
  for (int k = 0; k < 3; ++k) shift[k] = parameter(model, ModelParameter::site_position, place.site, k, p);
  if (shift[0].is_known()) return known(place.pos);
  return known(place.pos) + known(model.frames[place.frame].turn) * shift;
}
Quat turn_by_parameters(const RobotModel& model, int site, Program& p) {
  Quat turn{1, 0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    const Expr angle = parameter(model, ModelParameter::site_turn, site, k, p);
    if (angle.is_known()) return turn;
    Quat by{cos(Expr(0.5) * angle), 0, 0, 0};
    by[1 + k] = sin(Expr(0.5) * angle);
    turn = turn * by;
  }
  return turn;
}
Mat3 turn_of(const RobotModel& model, const Placement& place, Program& p) {
  const Quat by = turn_by_parameters(model, place.site, p);
  return by[0].is_known() ? known(place.turn) : known(place.turn) * rotation_of(by);
}
Symmetric inertia_of(const RobotModel& model, int frame, Program& p) {
  const Frame& of = model.frames[frame];
  Symmetric inertia = known(of.inertia);
  if (const Expr mass = mass_of(model, frame, p); !mass.is_known()) {
    const Expr factor = Expr(1) + parameter(model, ModelParameter::mass, frame, 2, p);
    for (int k = 0; k < 6; ++k) inertia[k] = (Expr(1 / of.mass) * (mass * factor)) * inertia[k];
  }
  return inertia;
}

Dynamics trace_dynamics(const RobotModel& model, const Kinematics& kinematics, Program& p) {
  const size_t nv = model.dofs.size(), bodies = model.bodies.size();
  Dynamics d;
  d.force.resize(nv), d.actuator_torque.resize(nv), d.tendon_force.resize(model.tendons.size());
  const auto of_dof = [&](size_t i, double in_file, int number) {
    return Expr(in_file) * parameter(model, ModelParameter::joint, static_cast<int>(i), number, p);
  };
  for (size_t i = 0; i < nv; ++i) {
    const ForceProfile& damping = model.dofs[i].damping;
    d.damping.diagonal.push_back(slope(damping, of_dof(i, damping.linear, 0), speed_in(damping, kinematics.qvel[i])));
    d.damping.ancestors.emplace_back(model.dofs[i].ancestors.size());
  }

  // Recursive Newton-Euler.
  const bool in_loops = finds_forces_in_loops(model, p);
  std::vector<Inertia> inertia(bodies);
  std::vector<Spatial> force(bodies);
  for (size_t k = 0; k < bodies; ++k) {
    if (in_loops && !model.turns_implicitly(static_cast<int>(k))) continue;
    const Body& body = model.bodies[k];
    p.section(body.name + ": inertia, and the force that its motion requires");
    if (has_changing_mass(model, static_cast<int>(k))) {
      inertia[k] = inertia_of_frames(model, kinematics, static_cast<int>(k), p);
    } else {
      const Vec3 center = kinematics.pos[k] + kinematics.turn[k] * known(body.center);
      inertia[k] = inertia_at(body.mass, center, kinematics.turn[k], known(body.inertia));
    }
    const Spatial& velocity = kinematics.velocity[k];
    if (!in_loops) force[k] = inertia[k] * kinematics.bias[k] + cross_force(velocity, inertia[k] * velocity);
  }

  for (const FluidBox& box : in_loops ? std::vector<FluidBox>() : model.fluid_boxes) {
    const int k = model.frames[box.frame].body;
    p.section(box.name + ": force of the fluid");
    const Vec3 center = kinematics.point(k, center_of(model, box.frame, p));
    const Spatial on_it = fluid_force(model, box, center, kinematics.turn[k], kinematics.velocity[k]);
    force[k] = force[k] + Expr(-1) * p.named(on_it, identifier(box.name) + "_fluid");
  }

  for (size_t f = 0; f < model.frames.size(); ++f)
    if (is_pushed(model, static_cast<int>(f))) {
      const int k = model.frames[f].body;
      p.section(model.frames[f].name + ": push");
      const Vec3 center = kinematics.point(k, center_of(model, static_cast<int>(f), p));
      force[k] = force[k] + Expr(-1) * push_on(model, static_cast<int>(f), center, p);
    }

  // Gravity compensation is a force that points against gravity. If actuators exert it at some joints, `lift` has it.
  std::vector<Spatial> lift(bodies);
  const bool has_lift = std::ranges::any_of(model.joints, &Joint::carries_weight);
  for (size_t f = 0; f < model.frames.size(); ++f) {
    const Frame& frame = model.frames[f];
    if (frame.body < 0 || frame.mass * frame.gravity_compensation == 0 || model.gravity == Numbers3{}) continue;
    const Expr mass = mass_of(model, static_cast<int>(f), p) * Expr(frame.gravity_compensation);
    const int k = frame.body;
    p.section(frame.name + ": gravity compensation");
    const Vec3 center = kinematics.point(k, center_of(model, static_cast<int>(f), p));
    const Vec3 weight = mass * kinematics.gravity;
    std::vector<Spatial>& to = has_lift ? lift : force;
    to[k] = to[k] + p.named(Spatial{cross(center, weight), weight}, identifier(frame.name) + "_weight");
  }

  p.section("springs, dampers and actuators");
  if (has_lift) add_lift(model, kinematics, lift, d);
  trace_actuators(model, kinematics, d, p);
  for (size_t i = 0; i < nv; ++i) {
    const ForceProfile& damping = model.dofs[i].damping;
    const Expr& velocity = kinematics.qvel[i];
    d.force[i] +=
        d.actuator_torque[i] - strength(damping, of_dof(i, damping.linear, 0), speed_in(damping, velocity)) * velocity;
  }
  for (size_t j = 0; j < model.joints.size(); ++j) {
    const Joint& joint = model.joints[j];
    const auto dof = static_cast<size_t>(joint.dof);
    const Expr linear =
        Expr(joint.stiffness.linear) * parameter(model, ModelParameter::spring, static_cast<int>(j), 0, p);
    const Expr away = p.input(at("qpos", joint.qpos), "") - Expr(joint.rest);
    if (!joint.turns_freely())
      d.force[dof] -= strength(joint.stiffness, linear, away) * away;
    else if (!joint.stiffness.is_zero())
      add_spring(joint, kinematics.turn[model.dofs[dof].body], d.force, p);
  }
  trace_tendons(model, kinematics, d, p);

  p.section("the mass matrix from inertias of subtrees, and the forces along qvel");
  const bool turns = model.implicit_turning || !model.turning_bodies.empty();
  std::vector<Turning> turning(turns ? bodies : 0);
  for (size_t k = 0; k < turning.size(); ++k)
    if (model.turns_implicitly(static_cast<int>(k))) turning[k] = turning_of(inertia[k], kinematics.velocity[k]);
  d.mass.diagonal.resize(nv), d.mass.ancestors.resize(nv);
  if (in_loops) {
    d.required = force;
    for (size_t i = 0; i < nv; ++i)
      d.mass.diagonal[i] = model.dofs[i].armature, d.mass.ancestors[i].assign(model.dofs[i].ancestors.size(), 0);
    add_tendon_armature(model, kinematics, d, p);
    if (turns) trace_turning(model, kinematics, inertia, turning, d);
    return d;
  }
  gather_from_children(model, inertia);
  if (turns) trace_turning(model, kinematics, inertia, turning, d);
  gather_from_children(model, force);
  for (size_t i = 0; i < nv; ++i) {
    const Dof& dof = model.dofs[i];
    const int body = dof.body;
    const Spatial momentum = inertia[body] * kinematics.axis[i];
    if (uses_loops(model)) {
      d.push.push_back(momentum);
      d.mass.diagonal[i] = of_dof(i, dof.armature, 1), d.mass.ancestors[i].assign(dof.ancestors.size(), 0);
      d.force[i] -= dot(kinematics.axis[i], force[body]);
      continue;
    }
    d.mass.diagonal[i] = dot(kinematics.axis[i], momentum) + of_dof(i, dof.armature, 1);
    for (const int a : dof.ancestors)
      d.mass.ancestors[i].push_back(moves(model, a, dof.body) ? dot(kinematics.axis[a], momentum) : Expr(0));
    d.force[i] -= dot(kinematics.axis[i], force[body]);
  }
  add_tendon_armature(model, kinematics, d, p);
  return d;
}

TreeFactors factor_tree(const RobotModel& model, TreeMatrix m) {
  TreeFactors factors{m.ancestors, std::vector<Expr>(model.dofs.size())};
  for (size_t k = model.dofs.size(); k-- > 0;) {
    const auto& up = model.dofs[k].ancestors;
    factors.inverse[k] = Expr(1) / m.diagonal[k];
    for (size_t i = 0; i < up.size(); ++i) {
      const auto row = static_cast<size_t>(up[i]);
      const Expr factor = m.ancestors[k][i] * factors.inverse[k];
      m.diagonal[row] -= factor * m.ancestors[k][i];
      // The ancestors of `row` are those of k that follow it.
      for (size_t j = i + 1; j < up.size(); ++j) m.ancestors[row][j - i - 1] -= factor * m.ancestors[k][j];
      factors.ancestors[k][i] = factor;
    }
  }
  return factors;
}

std::vector<Expr> solve_up(const RobotModel& model, const TreeFactors& factors, std::vector<Expr> x) {
  for (size_t k = x.size(); k-- > 0;)
    for (size_t i = 0; i < model.dofs[k].ancestors.size(); ++i)
      x[model.dofs[k].ancestors[i]] -= factors.ancestors[k][i] * x[k];
  return x;
}

std::vector<Expr> solve_down(const RobotModel& model, const TreeFactors& factors, std::vector<Expr> x) {
  for (size_t k = 0; k < x.size(); ++k) {
    x[k] = x[k] * factors.inverse[k];
    for (size_t i = 0; i < model.dofs[k].ancestors.size(); ++i)
      x[k] -= factors.ancestors[k][i] * x[model.dofs[k].ancestors[i]];
  }
  return x;
}

std::vector<Expr> read_along_qvel(const RobotModel& model, const std::string& array, Program& p) {
  std::vector<Expr> x;
  for (const Dof& dof : model.dofs) x.push_back(p.input(at(array, x.size()), array + "_" + identifier(dof.name)));
  return x;
}

std::vector<Expr> multiply_tree(const RobotModel& model, const TreeMatrix& m, const std::vector<Expr>& x) {
  std::vector<Expr> y(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    y[k] += m.diagonal[k] * x[k];
    for (size_t i = 0; i < model.dofs[k].ancestors.size(); ++i) {
      const int up = model.dofs[k].ancestors[i];
      y[k] += m.ancestors[k][i] * x[up];
      y[up] += m.ancestors[k][i] * x[k];
    }
  }
  return y;
}

}  // namespace drl::robot_compiler

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Rotates the angular part of a vector along qvel into the solver's axes, or back.
void trace_turn(const RobotModel& model, const Kept& kept, bool is_into, Program& p) {
  std::vector<Expr> x;
  for (int i = 0; i < model.nv; ++i) x.push_back(p.input(at("from", i), "from_" + std::to_string(i)));
  for (const auto& [j, turn] : kept.free_turns) {
    const int d = model.joints[j].dof + 3;
    const Vec3 turned = (is_into ? turn : transposed(turn)) * Vec3{x[d], x[d + 1], x[d + 2]};
    for (int k = 0; k < 3; ++k) x[d + k] = turned[k];
  }
  p.set("to", x);
}

// Multiplies a quaternion by the rotation of an angular velocity, given in the body's axes, over the time h, and
// normalises it.
void integrate_quaternion(const Joint& joint, const Expr& h, Program& p) {
  Expr q[4], v[3];
  const int quat = joint.quat(), turning = joint.dof + joint.motions() - 3;
  for (int k = 0; k < 4; ++k) q[k] = p.input(at("from", quat + k), "from_quat_" + std::to_string(k));
  for (int k = 0; k < 3; ++k) v[k] = p.input(at("velocity", turning + k), std::string("velocity_") + "abc"[k]);
  const Expr speed = p.named(sqrt(max(v[0] * v[0] + v[1] * v[1] + v[2] * v[2], 1e-20)), "speed");
  const Expr half = p.named(Expr(0.5) * h * speed, "half_angle");
  const Expr c = p.named(cos(half), "cosine"), scale = p.named(sin(half) / speed, "sine_per_speed");
  const Expr x = scale * v[0], y = scale * v[1], z = scale * v[2];
  const Expr turned[4] = {q[0] * c - q[1] * x - q[2] * y - q[3] * z, q[0] * x + q[1] * c + q[2] * z - q[3] * y,
                          q[0] * y - q[1] * z + q[2] * c + q[3] * x, q[0] * z + q[1] * y - q[2] * x + q[3] * c};
  Expr square = 0;
  for (const Expr& t : turned) square += t * t;
  const Expr inverse = Expr(1) / sqrt(square);
  for (int k = 0; k < 4; ++k) p.set(at("to", quat + k), turned[k] * inverse);
}

// Returns (M + h damping)^-1 force of the bodies that turn implicitly, for which the damping is not symmetric:
// eliminates the degrees of freedom from the leaves to the roots.
std::vector<Expr> damp_and_turn(const RobotModel& model, const Kept& kept, std::vector<Expr> x) {
  const size_t nv = model.dofs.size();
  std::vector<Expr> inverse(nv);
  TreeMatrix m = kept.mass_alone, above = kept.mass_alone;  // entries (i, ancestor) and (ancestor, i)
  const auto turns = [&](size_t i) { return model.turns_implicitly(model.dofs[i].body); };
  for (size_t i = 0; i < nv; ++i) {
    if (!turns(i)) continue;
    m.diagonal[i] += Expr(model.timestep) * kept.damping.diagonal[i];
    for (size_t a = 0; a < m.ancestors[i].size(); ++a) {
      m.ancestors[i][a] += Expr(model.timestep) * kept.damping.ancestors[i][a];
      above.ancestors[i][a] += Expr(model.timestep) * kept.damping_above.ancestors[i][a];
    }
  }
  for (size_t k = nv; k-- > 0;) {
    if (!turns(k)) continue;
    const auto& up = model.dofs[k].ancestors;
    inverse[k] = Expr(1) / m.diagonal[k];
    for (size_t i = 0; i < up.size(); ++i) {
      const auto row = static_cast<size_t>(up[i]);
      if (!turns(row)) continue;
      const Expr factor = above.ancestors[k][i] * inverse[k];
      m.diagonal[row] -= factor * m.ancestors[k][i];
      for (size_t j = i + 1; j < up.size(); ++j) m.ancestors[row][j - i - 1] -= factor * m.ancestors[k][j];
      for (size_t j = 0; j < i; ++j) above.ancestors[up[j]][i - j - 1] -= factor * m.ancestors[k][j];
      x[row] -= factor * x[k];
    }
  }
  for (size_t k = 0; k < nv; ++k) {
    if (!turns(k)) continue;
    for (size_t i = 0; i < m.ancestors[k].size(); ++i) x[k] -= m.ancestors[k][i] * x[model.dofs[k].ancestors[i]];
    x[k] = x[k] * inverse[k];
  }
  return x;
}
void trace_damp(const RobotModel& model, const Kept& kept, Program& p) {
  TreeMatrix m = kept.mass_alone;
  const std::vector<Expr> force = multiply_tree(model, m, read_along_qvel(model, "qacc", p));
  if (model.implicit_turning) return p.set("damped", damp_and_turn(model, kept, force));
  const Expr step = model.timestep;
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    if (model.turns_implicitly(model.dofs[i].body)) continue;
    m.diagonal[i] += step * kept.damping.diagonal[i];
    for (size_t a = 0; a < m.ancestors[i].size(); ++a) m.ancestors[i][a] += step * kept.damping.ancestors[i][a];
  }
  std::vector<Expr> damped = solve_tree(model, m, force);
  if (!model.turning_bodies.empty()) {
    const std::vector<Expr> turned = damp_and_turn(model, kept, force);
    for (size_t i = 0; i < damped.size(); ++i)
      if (model.turns_implicitly(model.dofs[i].body)) damped[i] = turned[i];
  }
  p.set("damped", damped);
}
void trace_damp_in_loops(const RobotModel& model, const Kept& kept, Program& p) {
  const int entries = tree_entries(model);
  const std::string count = std::to_string(entries), mass = mass_alone_in_loops(model, p);
  p.before("F tree[" + count + "], inverse[Sizes::nv];");
  p.before("for (int k = 0; k < " + count + "; ++k) tree[k] = (" + mass + ")[k];");
  p.before("for (int i = 0; i < Sizes::nv; ++i) damped[i] = F(0);");
  p.before("add_tree_product<Sizes>(tree, qacc, F(1), damped);");
  TreeMatrix added = kept.damping;
  std::vector<Expr> turned;
  if (!model.turning_bodies.empty()) {
    turned = damp_and_turn(model, kept, multiply_tree(model, kept.mass_alone, read_along_qvel(model, "qacc", p)));
    p.before("F turned[Sizes::nv];");
  }
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    if (model.turns_implicitly(model.dofs[i].body)) {
      added.diagonal[i] = 0, added.ancestors[i].assign(added.ancestors[i].size(), 0);
      p.set(at("turned", i), turned[i]);
    }
    added.diagonal[i] = Expr(model.timestep) * added.diagonal[i];
    for (Expr& x : added.ancestors[i]) x = Expr(model.timestep) * x;
  }
  add_to_tree(added, "tree", 0, true, p);
  p.after("factorise_tree<Sizes>(tree, inverse, damped);", tree_products(model) + 3 * entries);
  p.after("solve_down_tree<Sizes>(tree, inverse, damped);", 3 * entries);
  for (size_t i = 0; i < turned.size(); ++i)
    if (model.turns_implicitly(model.dofs[i].body)) p.after(at("damped", i) + " = " + at("turned", i) + ";");
}

// Returns the rate of change of a rotation vector u, if the body that it turns has the angular velocity w in its own
// axes: w + u x w / 2 + (1 - (t / 2) cot(t / 2)) / t^2 u x (u x w), with t = |u| (E. Hairer, C. Lubich, G. Wanner,
// "Geometric Numerical Integration", section IV.7).
Vec3 rate_of_rotation(const Vec3& u, const Vec3& w) {
  const Vec3 once = cross(u, w), twice = cross(u, once);
  const Expr square = dot(u, u), angle = sqrt(max(square, 1e-20)), half = Expr(0.5) * angle;
  const Expr closed = (Expr(1) - half * cos(half) / sin(half)) / max(square, 1e-20);
  Expr series = 0;  // of small angles
  for (const double term : {1.0 / 47900160, 1.0 / 1209600, 1.0 / 30240, 1.0 / 720, 1.0 / 12})
    series = Expr(term) + square * series;
  return w + Expr(0.5) * once + select_less(square, 0.09, series, closed) * twice;
}
void trace_stages(const RobotModel& model, Program& p) {
  p.begin(
      "Computes the velocity along which a stage of Runge-Kutta moves: of balls and free joints, the rate of\n"
      "change of their rotation since the step's start, which is h before. `along` may be `before`.",
      "move_stage(const F* velocity, const F* before, F h, F* along)");
  const Expr h = p.input("h", "");
  for (const Joint& joint : model.joints) {
    const auto of = [&](const std::string& array, int k) { return p.input(at(array, k), ""); };
    const int turning = joint.dof + joint.motions() - (joint.turns_freely() ? 3 : 0);  // its first rotation
    for (int k = joint.dof; k < turning; ++k) p.set(at("along", k), of("velocity", k));
    if (!joint.turns_freely()) continue;
    Vec3 u, w;
    for (int k = 0; k < 3; ++k) u[k] = h * of("before", turning + k), w[k] = of("velocity", turning + k);
    const Vec3 rate = rate_of_rotation(u, w);
    for (int k = 0; k < 3; ++k) p.set(at("along", turning + k), rate[k]);
  }
}

}  // namespace

void trace_integrator(const RobotModel& model, const Kept& kept, Program& p) {
  p.begin("Converts from qvel's axes to those of the solver, in which a free joint rotates about the world's axes.",
          "into_solver(const Work& w, const F* from, F* to)");
  trace_turn(model, kept, true, p);
  p.begin("Converts back; `to` may be `from`.", "out_of_solver(const Work& w, const F* from, F* to)");
  trace_turn(model, kept, false, p);

  if (model.implicit_damping) {
    p.begin("Computes the acceleration of Euler's step with implicit damping: (M + h damping)^-1 M qacc.",
            "damp(const Work& w, const F* qacc, F* damped)");
    uses_loops(model) && !model.implicit_turning ? trace_damp_in_loops(model, kept, p) : trace_damp(model, kept, p);
  }

  p.begin("Integrates a velocity over the time h.", "integrate(const F* from, const F* velocity, F h, F* to)");
  const Expr h = p.input("h", "");
  for (const Joint& joint : model.joints) {
    const int straight = joint.turns_freely() ? joint.positions() - 4 : 1;
    for (int k = 0; k < straight; ++k)
      p.set(at("to", joint.qpos + k), p.input(at("from", joint.qpos + k), "from_" + std::to_string(joint.qpos + k)) +
                                          h * p.input(at("velocity", joint.dof + k), ""));
    if (joint.turns_freely()) integrate_quaternion(joint, h, p);
  }
  if (model.turns_stages) trace_stages(model, p);
}

}  // namespace drl::robot_compiler

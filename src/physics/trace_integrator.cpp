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

void trace_damp(const RobotModel& model, const Kept& kept, Program& p) {
  TreeMatrix m = kept.mass_alone;
  const std::vector<Expr> force = multiply_tree(model, m, read_along_qvel(model, "qacc", p));
  const Expr step = model.timestep;
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    m.diagonal[i] += step * kept.damping.diagonal[i];
    for (size_t a = 0; a < m.ancestors[i].size(); ++a) m.ancestors[i][a] += step * kept.damping.ancestors[i][a];
  }
  p.set("damped", solve_tree(model, m, force));
}
// The same for derivatives that are not symmetric: eliminates the degrees of freedom from the leaves to the roots.
void trace_damp_and_turn(const RobotModel& model, const Kept& kept, Program& p) {
  const size_t nv = model.dofs.size();
  std::vector<Expr> inverse(nv);
  TreeMatrix m = kept.mass_alone, above = kept.mass_alone;  // entries (i, ancestor) and (ancestor, i)
  std::vector<Expr> x = multiply_tree(model, m, read_along_qvel(model, "qacc", p));
  for (size_t i = 0; i < nv; ++i) {
    m.diagonal[i] += Expr(model.timestep) * kept.damping.diagonal[i];
    for (size_t a = 0; a < m.ancestors[i].size(); ++a) {
      m.ancestors[i][a] += Expr(model.timestep) * kept.damping.ancestors[i][a];
      above.ancestors[i][a] += Expr(model.timestep) * kept.damping_above.ancestors[i][a];
    }
  }
  for (size_t k = nv; k-- > 0;) {
    const auto& up = model.dofs[k].ancestors;
    inverse[k] = Expr(1) / m.diagonal[k];
    for (size_t i = 0; i < up.size(); ++i) {
      const auto row = static_cast<size_t>(up[i]);
      const Expr factor = above.ancestors[k][i] * inverse[k];
      m.diagonal[row] -= factor * m.ancestors[k][i];
      for (size_t j = i + 1; j < up.size(); ++j) m.ancestors[row][j - i - 1] -= factor * m.ancestors[k][j];
      for (size_t j = 0; j < i; ++j) above.ancestors[up[j]][i - j - 1] -= factor * m.ancestors[k][j];
      x[row] -= factor * x[k];
    }
  }
  for (size_t k = 0; k < nv; ++k) {
    for (size_t i = 0; i < m.ancestors[k].size(); ++i) x[k] -= m.ancestors[k][i] * x[model.dofs[k].ancestors[i]];
    x[k] = x[k] * inverse[k];
    p.set(at("damped", k), x[k]);
  }
}
void trace_damp_in_loops(const RobotModel& model, const Kept& kept, Program& p) {
  const int entries = tree_entries(model);
  const std::string count = std::to_string(entries), mass = mass_alone_in_loops(model, p);
  p.before("F tree[" + count + "], inverse[Sizes::nv];");
  p.before("for (int k = 0; k < " + count + "; ++k) tree[k] = (" + mass + ")[k];");
  p.before("for (int i = 0; i < Sizes::nv; ++i) damped[i] = F(0);");
  p.before("add_tree_product<Sizes>(tree, qacc, F(1), damped);");
  TreeMatrix added = kept.damping;
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    added.diagonal[i] = Expr(model.timestep) * added.diagonal[i];
    for (Expr& x : added.ancestors[i]) x = Expr(model.timestep) * x;
  }
  add_to_tree(added, "tree", 0, true, p);
  p.after("factorise_tree<Sizes>(tree, inverse, damped);", tree_products(model) + 3 * entries);
  p.after("solve_down_tree<Sizes>(tree, inverse, damped);", 3 * entries);
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
    model.implicit_turning ? trace_damp_and_turn(model, kept, p)
    : uses_loops(model)    ? trace_damp_in_loops(model, kept, p)
                           : trace_damp(model, kept, p);
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
}

}  // namespace drl::robot_compiler

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

Expr force_of(Program& p, int number, const std::string& name) { return p.input(at("w.forces.limit", number), name); }

// Adds dry friction. For the rotation of a free joint it acts along the body's axes.
void add_frictions(const RobotModel& model, const Kept& kept, Program& p, std::vector<Expr>& force) {
  int number = count_limits(model);
  for (const int dof : frictional_dofs(model)) {
    const Expr friction = force_of(p, number++, identifier(model.dofs[dof].name) + "_friction");
    for (const auto& [i, x] : in_solver(model, kept, dof)) force[i] += friction * x;
  }
}

// Adds the forces of contacts, and subtracts those that accelerations require.
void add_contacts(const RobotModel& model, const Kept& kept, Program& p, const std::vector<Expr>& inertia,
                  std::vector<Expr>& force) {
  const std::vector<int> frames = touching_frames(model);
  std::vector<Spatial> carried(model.bodies.size());
  for (size_t f = 0; f < frames.size(); ++f) {
    const int body = model.frames[f].body;
    for (int c = 0; c < 6 && frames[f] >= 0 && body >= 0; ++c)
      carried[body][c] += p.input(at("w.forces.wrench", frames[f], c),
                                  identifier(model.frames[f].name) + "_wrench_" + std::to_string(c));
  }
  gather_from_children(model, carried);
  for (size_t i = 0; i < force.size(); ++i)
    force[i] = force[i] - inertia[i] + dot(kept.axis[i], carried[model.dofs[i].body]);
}

}  // namespace

void trace_unbalanced(const RobotModel& model, const Kept& kept, Program& p) {
  if (!refines(model)) return;
  p.begin("Computes the residual of the equations of motion along qvel: the work's forces minus M qacc.",
          "unbalanced(const Work& w, const F* qacc, F* force)");
  const std::vector<Expr> x = read_along_qvel(model, "qacc", p);
  std::vector<Expr> force = kept.force;
  std::vector<Expr> inertia(force.size(), 0);
  if (!uses_loops(model)) inertia = multiply_tree(model, kept.mass, x);
  if (loops_over_wrenches(p)) {
    const std::vector<Expr> contacts = forces_of_contacts_in_loops(model, "w.axis", "w.forces.wrench", p);
    for (size_t i = 0; i < force.size(); ++i) force[i] = force[i] - inertia[i] + contacts[i];
  } else {
    add_contacts(model, kept, p, inertia, force);
  }
  const auto joints = limited_joints(model);
  for (size_t l = 0; l < joints.size(); ++l)
    force[joints[l]->dof] += force_of(p, static_cast<int>(l), identifier(joints[l]->name) + "_limit");
  add_frictions(model, kept, p, force);
  const auto along = [&](int tendon) { return along_of(model, kept, tendon); };
  add_tendon_forces(model, "w.forces.limit", along, p, force);
  p.set("force", force);
  if (uses_loops(model)) p.after("add_tree_product<Sizes>(w.mass, qacc, F(-1), force);", 2 * tree_entries(model));
}

}  // namespace drl::robot_compiler

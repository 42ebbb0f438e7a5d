#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// Writes M, packed by rows of its lower half.
void trace_mass_matrix(const RobotModel& model, const Kept& kept, Program& p) {
  p.begin("Computes M.", "mass_matrix(const Work& w, F* matrix)");
  if (uses_loops(model)) return p.after("spread_tree<Sizes>(" + mass_alone_in_loops(model, p) + ", matrix);");
  for (size_t i = 0; i < model.dofs.size(); ++i) {
    const int first = static_cast<int>(i * (i + 1) / 2);
    for (size_t a = 0; a < model.dofs[i].ancestors.size(); ++a)
      p.set(at("matrix", first + model.dofs[i].ancestors[a]), kept.mass_alone.ancestors[i][a]);
    p.set(at("matrix", first + i), kept.mass_alone.diagonal[i]);
  }
}

// Writes the rows of dry friction along qvel in the solver's axes, [kFrictions, nv], without their zeros.
void trace_friction_rows(const RobotModel& model, const Kept& kept, Program& p) {
  p.begin("Computes the entries that are not 0 of the rows of dry friction.",
          "friction_rows(const Work& w, F (*row)[Sizes::nv])");
  int number = 0;
  const auto set = [&](size_t i, const Expr& x) {
    if (!x.is(0)) p.set(at("row", number, i), x);
  };
  for (const int dof : frictional_dofs(model)) {
    for (const auto& [i, x] : in_solver(model, kept, dof)) set(i, x);
    number += 1;
  }
  for (const int t : frictional_tendons(model)) {
    const std::vector<Expr>& along = along_of(model, kept, t);
    for (size_t i = 0; i < along.size(); ++i) set(i, along[i]);
    number += 1;
  }
}

}  // namespace

void trace_noslip(const RobotModel& model, const Kept& kept, Program& p) {
  if (!model.noslip) return;
  trace_mass_matrix(model, kept, p);
  if (count_frictions(model) > 0) trace_friction_rows(model, kept, p);
}

}  // namespace drl::robot_compiler

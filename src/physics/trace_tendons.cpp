#include <algorithm>

#include "physics/trace.hpp"

namespace drl::robot_compiler {

TendonPath trace_tendon(const RobotModel& model, int tendon, const Kinematics& kinematics, Program& p) {
  const Tendon& of = model.tendons[static_cast<size_t>(tendon)];
  const std::string name = identifier(of.name) + "_tendon";
  TendonPath path;
  path.along.resize(model.dofs.size());
  for (const Tendon::Term& term : of.terms) {
    const Joint& joint = model.joints[static_cast<size_t>(term.joint)];
    path.length += Expr(term.factor) * p.input(at("qpos", joint.qpos), "");
    path.along[static_cast<size_t>(joint.dof)] += Expr(term.factor);
  }
  for (size_t i = 0; i < path.along.size(); ++i) path.velocity += path.along[i] * kinematics.qvel[i];
  p.named(path.length, name + "_length"), p.named(path.velocity, name + "_velocity");
  return path;
}

void add_outer_product(const RobotModel& model, const std::vector<Expr>& along, const Expr& strength, bool of_mass,
                       TreeMatrix& m) {
  for (size_t i = 0; i < along.size(); ++i) {
    if (along[i].is(0)) continue;
    const Expr scaled = strength * along[i];
    m.diagonal[i] += scaled * along[i];
    const Dof& dof = model.dofs[i];
    for (size_t a = 0; a < dof.ancestors.size(); ++a) {
      const auto ancestor = static_cast<size_t>(dof.ancestors[a]);
      if (!of_mass || (!dof.is_simple && moves(model, ancestor, dof.body)))
        m.ancestors[i][a] += scaled * along[ancestor];
    }
  }
}

const std::vector<Expr>& along_of(const RobotModel& model, const Kept& kept, int tendon) {
  const std::vector<int> tendons = tendons_with_rows(model);
  return kept.tendon_along[static_cast<size_t>(std::ranges::find(tendons, tendon) - tendons.begin())];
}

void trace_tendon_rows(const RobotModel& model, const Kept& kept, Program& p) {
  if (kept.tendon_along.empty()) return;
  p.begin("Computes the part of the accelerations of tendons with limits or dry friction that comes from qacc.",
          "tendons(const Work& w, const F* qacc, F* acceleration)");
  for (size_t t = 0; t < kept.tendon_along.size(); ++t) {
    Expr sum = 0;
    for (size_t i = 0; i < model.dofs.size(); ++i)
      sum +=
          kept.tendon_along[t][i] * p.input(at("qacc", static_cast<int>(i)), "qacc_" + identifier(model.dofs[i].name));
    p.set(at("acceleration", static_cast<int>(t)), sum);
  }
}

}  // namespace drl::robot_compiler

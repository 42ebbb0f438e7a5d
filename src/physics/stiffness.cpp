#include "physics/stiffness.hpp"

#include <algorithm>

#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

// Returns how much stiffer a contact is along its stiffest direction than without friction, where its weight is
// d / (1 - d) times the inertia, for the impedance d. The tangents of an elliptic cone are stiffer by impratio. A
// pyramid has four edges, normal +- mu tangent, with 1 + mu^2 times the inverse inertia of the normal. MuJoCo divides
// their weight by 2 mu^2 / impratio.
double stiffness_of_friction(const RobotModel& model, double mu, const ConeFriction& cone) {
  if (cone.dimensions == 1) return 1;
  const double most = std::max(mu, cone.second_sliding);
  if (model.elliptic) return std::max(1.0, model.impratio * most * most / (mu * mu));
  const double edge = model.impratio / (2 * mu * mu * (1 + mu * mu));
  return std::max(4 * edge, 2 * most * most * edge);
}

// Returns the same for an equality constraint. Its rows are d / (1 - d) times as stiff as the inertia for which their
// weights are. A row along one degree of freedom does not count, as limits do not.
double stiffness_of_rows(const RobotModel& model, const Equality& equality) {
  if (equality.couples_lengths()) {
    const bool is_of_joints = equality.kind == Equality::joint;
    if (equality.joints[1] < 0) return is_of_joints ? 0 : 1;
    const auto inverse_weight = [&](size_t side) {
      const auto index = static_cast<size_t>(equality.joints[side]);
      if (!is_of_joints) return model.tendons[index].inverse_weight;
      const Joint& joint = model.joints[index];
      return model.dofs[joint.dof].inverse_weight;
    };
    const double slope = equality.polynomial[1];
    return (inverse_weight(0) + slope * slope * inverse_weight(1)) / equality.inverse_weight;
  }
  const double turn = equality.torque_scale / 2;  // of a quaternion's imaginary part along a rotation
  return equality.kind == Equality::weld ? std::max(1.0, turn * turn) : 1;
}

}  // namespace

StiffestConstraint stiffest_constraint(const RobotModel& model) {
  StiffestConstraint stiffest;
  const auto add_stiffness = [&](const std::string& name, double stiffness) {
    if (stiffness > stiffest.stiffness) stiffest = {name, stiffness};
  };
  const auto add = [&](const std::string& name, const auto& constraint, double share) {
    const double d = std::max(constraint.softness.least, constraint.softness.most);
    add_stiffness(name, d / (1 - d) * share);
  };
  const auto of_contact = [&](const auto& c) { return stiffness_of_friction(model, c.friction, c.cone); };
  for (const FloorContact& contact : model.contacts) add(contact.name, contact, of_contact(contact));
  for (const GeomPair& pair : model.pairs) {
    // Contacts of a body whose inverse weight is kLeastWeight (robot_contacts.cpp) are rigid. That of a column with the
    // floor pushes along its axis, so contacts with the floor do not count.
    const bool is_rigid = pair.weight_without_friction < 1e-9;
    add(model.pair_geoms[pair.first].name, pair, is_rigid ? 1e9 : of_contact(pair));
  }
  for (const Equality& equality : model.equalities) add(equality.name, equality, stiffness_of_rows(model, equality));
  for (const Tendon& tendon : model.tendons) {
    if (!tendon.has_rows() || dofs_of_tendon(model, tendon).size() < 2) continue;
    if (tendon.limit) add(tendon.name, *tendon.limit, 1);
    if (tendon.friction) add_stiffness(tendon.name, tendon.friction->weight * tendon.inverse_weight);
  }
  return stiffest;
}

}  // namespace drl::robot_compiler

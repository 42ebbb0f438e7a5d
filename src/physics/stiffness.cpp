#include "physics/stiffness.hpp"

#include <algorithm>

namespace drl::robot_compiler {
namespace {

// Returns how much stiffer a contact is along its stiffest direction than without friction, where its weight is
// d / (1 - d) times the inertia, for the impedance d. The tangents of an elliptic cone are stiffer by impratio. A
// pyramid has four edges, normal +- mu tangent, with 1 + mu^2 times the inverse inertia of the normal. MuJoCo divides
// their weight by 2 mu^2 / impratio.
double stiffness_of_friction(const RobotModel& model, double mu, const ConeFriction& cone) {
  if (cone.dimensions == 1) return 1;
  if (model.elliptic) return std::max(1.0, model.impratio);
  const double edge = model.impratio / (2 * mu * mu * (1 + mu * mu));
  return std::max(4 * edge, 2 * mu * mu * edge);
}

}  // namespace

StiffestContact stiffest_contact(const RobotModel& model) {
  StiffestContact stiffest;
  const auto add = [&](const std::string& name, const auto& contact) {
    const double d = std::max(contact.softness.least, contact.softness.most);
    const double stiffness = d / (1 - d) * stiffness_of_friction(model, contact.friction, contact.cone);
    if (stiffness > stiffest.stiffness) stiffest = {name, stiffness};
  };
  for (const FloorContact& contact : model.contacts) add(contact.name, contact);
  for (const GeomPair& pair : model.pairs) add(model.pair_geoms[static_cast<size_t>(pair.first)].name, pair);
  return stiffest;
}

}  // namespace drl::robot_compiler

#include "physics/stiffness.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

constexpr double kRigid = 1e15;

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

// Returns the impedance of a constraint at a depth (MuJoCo, "Modeling", solver parameters).
double impedance(const Softness& s, double depth) {
  const double x = std::clamp(depth / s.width, 0.0, 1.0), power = s.power;
  const double y = x < s.midpoint ? std::pow(x, power) / std::pow(s.midpoint, power - 1)
                                  : 1 - std::pow(1 - x, power) / std::pow(1 - s.midpoint, power - 1);
  return s.least + y * (s.most - s.least);
}
double stiffness_at(double impedance, double share) { return impedance / (1 - impedance) * share; }
double most_impedance(const Softness& softness) { return std::max(softness.least, softness.most); }

// Calls body(name, geoms, softness, share, edge) for each contact. `share` is how stiff it is for impedance / (1 -
// impedance), and `edge` the distance at which it begins to push.
template <class Body>
void each_contact(const RobotModel& model, const Body& body) {
  const auto share = [&](const auto& c) { return stiffness_of_friction(model, c.friction, c.cone); };
  for (const FloorContact& c : model.contacts)
    body(c.name, std::minmax(c.geom, c.plane), c.softness, share(c), c.margin);
  for (const GeomPair& pair : model.pairs) {
    const PairGeom &first = model.pair_geoms[pair.first], &second = model.pair_geoms[pair.second];
    // Contacts of a body whose inverse weight is kLeastWeight (robot_contacts.cpp) are rigid. That of a column with the
    // floor pushes along its axis, so contacts with the floor do not count.
    const bool is_rigid = pair.weight_without_friction < 1e-9;
    body(first.name, std::minmax(first.geom, second.geom), pair.softness, is_rigid ? kRigid : share(pair),
         pair.margin - pair.gap);
  }
}

}  // namespace

StiffestConstraint stiffest_constraint(const RobotModel& model) {
  StiffestConstraint contact, other;
  const auto raise = [](StiffestConstraint& stiffest, const std::string& name, double stiffness) {
    if (stiffness > stiffest.stiffness) stiffest = {name, stiffness};
  };
  const auto add = [&](const std::string& name, double stiffness) { raise(other, name, stiffness); };
  each_contact(model, [&](const std::string& name, const auto&, const Softness& softness, double share, double) {
    raise(contact, name, stiffness_at(most_impedance(softness), share));
  });
  for (const Equality& equality : model.equalities)
    add(equality.name, stiffness_at(most_impedance(equality.softness), stiffness_of_rows(model, equality)));
  for (const Tendon& tendon : model.tendons) {
    if (!tendon.has_rows() || dofs_of_tendon(model, tendon).size() < 2) continue;
    if (tendon.limit) add(tendon.name, stiffness_at(most_impedance(tendon.limit->softness), 1));
    if (tendon.friction) add(tendon.name, tendon.friction->weight * tendon.inverse_weight);
  }
  if (other.stiffness > contact.stiffness) return other;
  contact.is_alone = other.stiffness <= kMostStiffInFloat;
  return contact;
}

bool depends_on_motion(const RobotModel& model) {
  const StiffestConstraint stiffest = stiffest_constraint(model);
  return stiffest.stiffness > kMostStiffInFloat && stiffest.is_alone && model.equalities.empty() && !model.noslip;
}

void try_float(VisitedStates& visited, RobotModel& model) {
  std::map<std::pair<int, int>, std::pair<const Softness*, double>> contacts;  // and their shares
  each_contact(model, [&](const auto&, const auto& geoms, const Softness& softness, double share, double) {
    contacts[geoms] = {&softness, share};
  });
  FloatTrial trial;
  for (const VisitedStep& step : visited.steps())
    for (const VisitedContact& contact : step.contacts)
      if (const auto known = contacts.find(std::minmax(contact.first, contact.second)); known != contacts.end()) {
        const auto& [softness, share] = known->second;
        trial.stiffest = std::max(trial.stiffest, stiffness_at(impedance(*softness, contact.depth), share));
      }
  std::vector<double> errors = visited.float_errors();
  std::ranges::sort(errors);
  if (!errors.empty()) trial.error = errors[errors.size() * 99 / 100];
  model.float_trial = trial;
}

bool is_stiff(const RobotModel& model) {
  const StiffestConstraint stiffest = stiffest_constraint(model);
  if (stiffest.stiffness <= kMostStiffInFloat) return false;
  const std::optional<FloatTrial>& trial = model.float_trial;
  return !trial || trial->error > kMostFloatError || trial->stiffest > kLeastImpedance * kRigid;
}

std::vector<double> deepest_contacts(const RobotModel& model) {
  std::vector<double> deepest;
  if (!model.float_trial || is_stiff(model)) return deepest;
  constexpr double kNever = -1e30, kRounding = 1.001;
  const double most = kRounding * std::max(kMostStiffInFloat, model.float_trial->stiffest);
  bool exist = false;
  each_contact(model, [&](const auto&, const auto&, const Softness& softness, double share, double edge) {
    if (stiffness_at(most_impedance(softness), share) <= most) return deepest.push_back(kNever);
    double low = 0, high = softness.width;
    for (int halving = 0; halving < 60; ++halving) {
      const double depth = (low + high) / 2;
      (stiffness_at(impedance(softness, depth), share) < most ? low : high) = depth;
    }
    deepest.push_back(edge - low), exist = true;
  });
  return exist ? deepest : std::vector<double>();
}

}  // namespace drl::robot_compiler

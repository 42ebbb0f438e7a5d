#include "physics_cost.hpp"

#include <algorithm>
#include <map>

#include "physics/emit.hpp"
#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

constexpr int kTrigonometric = 20;
// For an elliptic cone (drl/physics/cones.hpp): its residuals, its numbers in a Work, and roughly its operations per
// solver iteration.
constexpr int kResiduals = 6, kConeNumbers = 39, kGroundNumbers = 59, kConeOperations = 400;
// Solver iterations. Lanes need one to four, and all wait for the slowest lane.
constexpr int kIterations = 3;
// Assumed operations on packs per cycle; bench/physics_table measures them.
constexpr double kPerCycle = 1, kHertz = 3e9;
constexpr int kLanes = 16;

int at_least_one(int n) { return std::max(n, 1); }
// Returns the number of values in a Work (drl/physics/work.hpp).
int count_work(const RobotModel& model, const Program& program) {
  const int contacts = static_cast<int>(model.contacts.size()), limits = count_limits(model);
  const int pair_rows = model.pair_places.rows, of_pairs = has_rows_of_pairs(model) ? model.nv : 0;
  const int pair_cones = model.pair_places.cones;
  const auto fields = [&](const char* type) { return static_cast<int>(program.fields(type).size()); };
  int numbers = 0;
  for (const char* array :
       {"axis", "mass", "force", "free_turn", "damping", "factor", "branch", "equality_along", "tendon_along"})
    numbers += program.places(array);
  numbers += kConeNumbers * (count_cones(model) + pair_cones) + 9 * count_cones(model) + 9 * count_turned_geoms(model);
  numbers += kGroundNumbers * model.pair_places.ground;
  numbers += contacts * std::max(fields("Touch"), fields("ContactRow"));
  const int frictions = count_frictions(model);
  const int bodies = count_numbers(touching_bodies(model)) *
                     (count_numbers(program.motion_places) + count_numbers(program.coupling_places));
  numbers +=
      std::max(bodies, count_numbers(program.wrench_places) * at_least_one(count_numbers(touching_frames(model))) +
                           at_least_one(limits + frictions + count_equality_rows(model)));
  numbers += 5 * frictions + 3 * count_equality_rows(model);
  // limits, weights and residuals
  numbers += 2 * limits + (count_pyramids(model) + limits + pair_rows);
  numbers += 2 * (contact_residuals(model, program) + limits + pair_rows);
  numbers += 6 * static_cast<int>(model.pair_geoms.size()) + (model.trees > 1 ? 3 * model.trees : 0) + 2 * of_pairs;
  if (remembers_pairs(model)) numbers += 5 * static_cast<int>(model.pairs.size());
  if (model.noslip)
    numbers += pair_rows + model.nv * (2 * frictions + pair_rows + most_friction_directions(model) * pair_cones);
  const int rows = pair_rows + kResiduals * pair_cones;
  if (model.pair_places.dense) return numbers + rows * (of_pairs + 1) + model.nv * (model.nv + 1) / 2 - 2 * of_pairs;
  return numbers + rows * (2 * of_pairs + 1);
}

}  // namespace

Cost cost_of(const RobotModel& model, const Program& program) {
  std::map<std::string, int> of;  // operations, by function
  for (const Function& function : program.functions()) {
    const FunctionText text = emit_function(program, function);
    of[function.signature.substr(0, function.signature.find('('))] =
        text.operations + kTrigonometric * text.trigonometric;
  }
  const int contacts = static_cast<int>(model.contacts.size()), limits = count_limits(model);
  const int rows = limits + count_frictions(model);
  int solution = of["newton"] + of["factorise"] + of["solve_down"] + of["tendons"];
  for (const auto& [function, operations] : of)
    if (function.starts_with("factorise_branch_")) solution += operations;
  const int refinement = refines(model) ? of["unbalanced"] + of["solve_up"] + of["solve_down"] : 0;
  // Distances count twice: they are computed in double, and a register holds half as many doubles as floats.
  const int once = of["smooth"] + 2 * of["distances"] + refinement + of["into_solver"] + of["out_of_solver"] +
                   of["equality_forces"] + of["damp"] + of["integrate"] + of["rates"] + of["activate"];
  const size_t checks = model.pair_groups.empty() ? model.pairs.size() : model.ground_pairs + model.pair_groups.size();
  const int pairs = 8 * static_cast<int>(checks);  // of distances
  const int pyramid = of["contact_row"] + of["add_coupling"] + kIterations * of["contact_edges"];
  const int touching = model.elliptic ? kIterations * kConeOperations : pyramid;
  const int stages = model.runge_kutta ? 4 : 1;
  Cost cost;
  cost.state_bytes = 4 * (model.nq + 2 * model.nv + 1 + model.na);
  // Does not include the list of contacts that exist in some lane.
  cost.lanes = program.is_wide ? kLanes / 2 : kLanes;
  cost.work_bytes = (program.is_wide ? 8 : 4) * count_work(model, program);
  cost.least = stages * (once + pairs + solution + 2 * rows);
  const int iterations = kIterations * (solution + of["accelerations"] + 2 * rows);
  cost.most = contacts + rows == 0 ? cost.least : stages * (once + pairs + iterations + contacts * touching);
  const double operations = kPerCycle * kHertz * cost.lanes;  // per second
  cost.slowest = operations / cost.most, cost.fastest = operations / cost.least;
  return cost;
}

}  // namespace drl::robot_compiler

// Tests that the constants that lanes derive from an environment's masses, centres of mass and armatures are those that
// mj_setConst computes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../support/paths.hpp"
#include "drl/physics/randomised_model.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

using Of = DerivedConstants;

double number_of(const mjModel& m, const std::pair<Of::Of, int>& of) {
  switch (of.first) {
    case Of::body_translation:
      return m.body_invweight0[2 * of.second];
    case Of::body_rotation:
      return m.body_invweight0[2 * of.second + 1];
    case Of::dof:
      return m.dof_invweight0[of.second];
    case Of::tendon:
      return m.tendon_invweight0[of.second];
    case Of::actuator:
      return m.actuator_acc0[of.second];
    default:
      return m.stat.meaninertia;
  }
}

// Draws numbers that change all masses, inertias, centres of mass and armatures.
std::vector<double> draw(const mjModel& file, const std::vector<Parameter>& parameters, unsigned seed) {
  std::vector<double> all;
  const auto uniform = [&](double low, double high) {
    seed = 1664525 * seed + 1013904223;
    return low + (high - low) * (seed >> 8) / (1 << 24);
  };
  for (const Parameter& parameter : parameters)
    for (int k = 0; k < 3; ++k) {
      double x = ModelParameter::unchanged(parameter.kind, k);
      if (parameter.kind == ModelParameter::mass)
        x = k == 0 ? uniform(0.3, 3) : k == 1 ? uniform(-0.2, 2) * file.body_mass[parameter.index] : uniform(-0.7, 2);
      if (parameter.kind == ModelParameter::center_of_mass) x = uniform(-0.05, 0.05);
      if (parameter.kind == ModelParameter::joint) x = uniform(0.2, 4);
      all.push_back(x);
    }
  return all;
}

class Constants : public testing::TestWithParam<std::string> {};

TEST_P(Constants, AreThoseOfMujoco) {
  const std::string file = source(GetParam());
  const auto model = load_model(file);
  const RobotModel robot = read_robot_model(file, 0, true);
  ASSERT_EQ(unsupported_lines(robot), std::vector<std::string>());
  ASSERT_FALSE(robot.constants.of.empty());
  double most_change = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::vector<double> numbers = draw(*model, robot.parameters, seed);
    const std::unique_ptr<mjModel, DeleteModel> changed(mj_copyModel(nullptr, model.get()));
    for (size_t p = 0; p < robot.parameters.size(); ++p)
      change_model(*model, {robot.parameters[p].kind, robot.parameters[p].index}, &numbers[3 * p], *changed);
    finish_changes(*changed);
    const std::vector<double> ratios = constant_ratios(robot, numbers);
    for (size_t c = 0; c < ratios.size(); ++c) {
      if (robot.constants.of[c].first == Of::growth) continue;
      const double before = number_of(*model, robot.constants.of[c]),
                   after = number_of(*changed, robot.constants.of[c]);
      EXPECT_NEAR(ratios[c] * before / after, 1, 1e-9)
          << robot.constants.of[c].first << " " << robot.constants.of[c].second;
      most_change = std::max(most_change, std::abs(after / before - 1));
    }
  }
  EXPECT_GT(most_change, 0.3);
}

std::vector<std::string> models() {
  std::vector<std::string> all;
  for (const char* name : {"humanoid", "half_cheetah", "ant", "pusher", "push_cube", "reorient"})
    all.push_back(std::string("src/robots/models/") + name + ".xml");
  // Tendons, connections and welds, balls, muscles, the noslip solver, bodies that only slide, a long chain, several
  // trees.
  for (const char* name : {"cords", "linkage", "coupled", "balls", "muscles", "noslip", "slider", "snake", "stack",
                           "manipulator", "toucher"})
    all.push_back(std::string("tests/physics/models/") + name + ".xml");
  return all;
}
INSTANTIATE_TEST_SUITE_P(Robots, Constants, testing::ValuesIn(models()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace drl::robot_compiler

// The compiled robots that are compared with libmujoco.
#pragma once

#include <string>
#include <vector>

#include "compared.hpp"

namespace drl::test {

struct TestedRobot {
  std::string name, file;                  // the path of the model: see Reference
  std::unique_ptr<ExactRobot> (*exact)();  // null if the robot is only compared in lanes
  LanesRobot (*lanes)();                   // null if it is only compared in double
  double float_error;                      // the bound of the errors of 99 % of the states in lanes of float
  Compared compared() const { return {file, exact()}; }
};

// Robots whose steps, runs, extreme states and penetrations are compared in double, and those in lanes.
const std::vector<TestedRobot>& tested_robots();
// Robots that have tests of their own in double.
const std::vector<TestedRobot>& special_robots();
// Robots that are also compared with changes of the numbers in their models.
const std::vector<TestedRobot>& randomised_robots();
// Returns the robot with this name, which is in one of the first two lists.
const TestedRobot& tested(const std::string& name);

inline std::string name_of(const testing::TestParamInfo<TestedRobot>& info) { return info.param.name; }
inline void PrintTo(const TestedRobot& robot, std::ostream* out) { *out << robot.file; }

}  // namespace drl::test

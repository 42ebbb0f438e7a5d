// A compiled robot behind an interface, so that the tests are compiled once and each robot in one unit
// (exact_robot_of.hpp). physics_robots() in CMakeLists.txt writes these units.
#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/queue.hpp"
#include "drl/physics/cones.hpp"

namespace drl::test {

// A robot's sizes (drl/physics/work.hpp), as far as tests need them.
struct RobotFacts {
  int contacts, cones, pairs, ground_pairs, pair_contacts;
  int tree_entries;  // of the mass matrix in loops over tables; otherwise 0
  bool has_cones, is_randomised, is_wide;
  std::vector<physics::Parameter> parameters;
};

// The quantities that a task reads, with MuJoCo's names; the world has no entry in the last four of the first line.
struct Quantities {
  std::vector<double> xpos, xquat, xipos, subtree_com, geom_xpos, site_xpos, cinert, cvel, cfrc_ext;
  std::vector<double> qfrc_actuator, qfrc_constraint, actuator_force, sensordata;
};

// A robot in double, one lane at a time.
class ExactRobot {
 public:
  virtual ~ExactRobot() = default;
  // Takes the heights of the model's height fields, and the file's numbers for all parameters.
  virtual void begin(const mjModel& model) = 0;
  // Computes the constants that follow from the parameters, of a randomised robot.
  virtual void derive_constants() = 0;
  // These step or evaluate the state.
  virtual void step() = 0;
  virtual void evaluate() = 0;
  // Returns the quantities of the last stage.
  virtual Quantities derive() const = 0;

  RobotFacts facts{};
  std::span<double> qpos, qvel, warm_start, act, ctrl;  // the state
  std::span<const double> qacc;                         // of the last stage
  std::span<double> parameters;
  double* time = nullptr;
  const double* unsolved = nullptr;
};

// The arguments of a step in lanes (drl/physics/loop.hpp).
struct LanesStep {
  int64_t n;
  int frame_skip;
  float* state;
  const float* ctrl;
  float *qacc, *forces, *unsolved, *sensors = nullptr;
};
// A robot in lanes of float: these set the heights of its height fields, and step the environments in [begin, end).
struct LanesRobot {
  void (*load_heights)(const mjModel& model);
  void (*step)(Queue& queue, int64_t begin, int64_t end, const LanesStep& step);
};

}  // namespace drl::test

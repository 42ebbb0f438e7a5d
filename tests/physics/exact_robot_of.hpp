// Makes an ExactRobot or a LanesRobot of a compiled robot. Units that include this compile all of the robot's physics.
#pragma once

#include "device/for_each.hpp"
#include "drl/physics/loop.hpp"
#include "drl/physics/shared_heights.hpp"
#include "exact_robot.hpp"

namespace drl::test {

// P is the Physics<double> of a robot.
template <class P>
class ExactRobotOf : public ExactRobot {
 public:
  ExactRobotOf() {
    qpos = state_.qpos, qvel = state_.qvel, warm_start = state_.warm_start, ctrl = ctrl_, qacc = stage_.qacc;
    time = &state_.time, unsolved = &stage_.unsolved;
    if constexpr (P::kActivations > 0) act = state_.act;
    facts = {.contacts = P::kContacts,
             .cones = P::kCones,
             .pairs = P::kPairs,
             .ground_pairs = P::kGroundPairs,
             .pair_contacts = P::kPairContacts,
             .tree_entries = 0,
             .has_cones = physics::has_cones<P>(),
             .is_randomised = P::kRandomised,
             .is_wide = P::kWide,
             .parameters = {}};
    if constexpr (requires { P::tree_row(0); }) facts.tree_entries = P::tree_row(P::nv);
    if constexpr (P::kParameters > 0) {
      parameters = stage_.parameters;
      for (int p = 0; 3 * p < P::kParameters; ++p) facts.parameters.push_back(P::parameter(p));
    }
  }
  void begin(const mjModel& model) override {
    load_heights<P>(model);
    physics::begin_parameters<P>(stage_);
  }
  void derive_constants() override {
    if constexpr (P::kConstants > 0) physics::find_constants<P>(stage_.parameters, stage_.parameters + P::kParameters);
  }
  void step() override { forces_ = physics::step<P>(state_, ctrl_, stage_); }
  void evaluate() override { forces_ = physics::evaluate<P>(state_, ctrl_, stage_); }
  Quantities derive() const override {
    typename P::Derived d;
    physics::derive_all<P>(stage_, forces_, d);
    Quantities all{numbers(d.xpos),
                   numbers(d.xquat),
                   numbers(d.xipos),
                   numbers(d.subtree_com),
                   numbers(d.geom_xpos),
                   {},
                   numbers(d.cinert),
                   numbers(d.cvel),
                   numbers(d.cfrc_ext),
                   numbers(d.qfrc_actuator),
                   numbers(d.qfrc_constraint),
                   numbers(d.actuator_force),
                   {}};
    if constexpr (P::nsite > 0) all.site_xpos.assign(&d.site_xpos[0][0], &d.site_xpos[0][0] + 3 * P::nsite);
    if constexpr (P::kSensorNumbers > 0)
      for (int k = 0; k < P::kSensorNumbers; ++k) {
        const int place = P::sensor_place(k);
        all.sensordata.push_back(place < 0 ? d.sensor[k] : stage_.sensed[place / 4][place % 4]);
      }
    return all;
  }

 protected:
  typename P::State state_{};
  typename P::Stage stage_{};
  typename P::Forces forces_{};
  double ctrl_[physics::at_least_one(P::nu)] = {};

 private:
  template <class Array>
  static std::vector<double> numbers(const Array& array) {
    const auto* first = reinterpret_cast<const double*>(&array);
    return {first, first + sizeof(array) / sizeof(double)};
  }
};

template <class Robot>
void step_lanes(Queue& queue, int64_t begin, int64_t end, const LanesStep& s) {
  for_each(queue, begin, end,
           StepRobots<Robot>{s.n, s.frame_skip, s.state, s.ctrl, s.qacc, s.forces, s.unsolved, s.sensors});
}

// The functions that make a tested robot; tested_robots.cpp declares them. Their names end with the units' suffix.
#ifndef DRL_EXACT_SUFFIX
#define DRL_EXACT_SUFFIX
#endif
#define DRL_JOINED(a, b, c) a##b##c
#define DRL_NAME_OF(kind, robot, suffix) DRL_JOINED(kind, robot, suffix)
#define DRL_EXACT_ROBOT(robot, type)                                           \
  std::unique_ptr<ExactRobot> DRL_NAME_OF(exact_, robot, DRL_EXACT_SUFFIX)() { \
    return std::make_unique<ExactRobotOf<type::Physics<double>>>();            \
  }
#define DRL_LANES_ROBOT(robot, type) \
  LanesRobot lanes_##robot() { return {load_heights<type::Physics<float>>, step_lanes<type>}; }

}  // namespace drl::test

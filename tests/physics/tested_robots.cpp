#include "tested_robots.hpp"

namespace drl::test {
namespace {

const std::string kOurs = "src/robots/models/", kTests = "tests/physics/models/";

}  // namespace

// physics_robots() in CMakeLists.txt defines these functions.
#define DRL_EXACT(robot)                                \
  [] {                                                  \
    extern std::unique_ptr<ExactRobot> exact_##robot(); \
    return exact_##robot();                             \
  }
#define DRL_LANES(robot)               \
  [] {                                 \
    extern LanesRobot lanes_##robot(); \
    return lanes_##robot();            \
  }
#define BOTH(robot, folder, float_error) \
  { #robot, folder + #robot ".xml", DRL_EXACT(robot), DRL_LANES(robot), float_error }
#define EXACT(robot, folder) \
  { #robot, folder + #robot ".xml", DRL_EXACT(robot), nullptr, 0 }
#define LANES(robot, folder, float_error) \
  { #robot, folder + #robot ".xml", nullptr, DRL_LANES(robot), float_error }

const std::vector<TestedRobot>& tested_robots() {
  static const std::vector<TestedRobot> all = {
      // Pyramidal cones.
      EXACT(inverted_pendulum, kOurs), BOTH(inverted_double_pendulum, kOurs, 1e-4), EXACT(reacher, kOurs),
      BOTH(half_cheetah, kOurs, 1e-4), EXACT(walker2d, kOurs), BOTH(ant, kOurs, 1e-4), BOTH(hopper, kOurs, 1e-4),
      BOTH(humanoid, kOurs, 1e-4), EXACT(humanoid_standup, kOurs), BOTH(swimmer, kOurs, 1e-4),
      BOTH(tangle, kTests, 1e-4),
      // Elliptic cones. Feelers have contact sensors of all kinds, with cones, with pyramids whose friction varies, and
      // in a plane.
      BOTH(crawler, kTests, 1e-4), BOTH(pincers, kTests, 1e-4), BOTH(skater, kTests, 1e-4),
      BOTH(feeler_cones, kTests, 1e-4), BOTH(feeler_pyramids, kTests, 1e-4), BOTH(feeler_plane, kTests, 1e-4),
#ifdef DRL_HAS_GO1
      // The error is 6e-5, because the positions of pairs are in float. It was 4.3e-4 without distances from the floor
      // in double, and is 1.6e-4 without the last refinement of a solution.
      BOTH(go1, std::string(DRL_MODELS "/"), 1e-4),
#endif
#ifdef DRL_HAS_G1
      // The error is 3.7e-4. It was 1.6e-3 without distances from the floor in double and the last refinement of a
      // solution: a foot touches the floor with up to 14 points that are a few centimetres apart.
      BOTH(g1, std::string(DRL_MODELS "/"), 5e-4),
#endif
      // A contact with a constant distance, whose friction alone depends on the state.
      EXACT(skid, kTests),
      // Dry friction.
      BOTH(slider, kTests, 1e-4), BOTH(manipulator, kTests, 1e-4),
      // Actuators that adhere to contacts, and friction that differs by direction.
      BOTH(gecko, kTests, 1e-4), BOTH(gecko_elliptic, kTests, 1e-4),
      // Sensors: touch, force and torque; range finders, and those of limits, energies, sites' volumes and the time.
      BOTH(toucher, kTests, 1e-4), EXACT(toucher_elliptic, kTests), EXACT(scout, kTests), EXACT(scout_rk4, kTests),
      // The noslip solver.
      BOTH(noslip, kTests, 1e-6), BOTH(noslip_elliptic, kTests, 1e-6), BOTH(gears, kTests, 1e-6),
      EXACT(gears_rk4, kTests),
      // A slider-crank, and equality constraints.
      BOTH(crank, kTests, 1e-4), BOTH(coupled, kTests, 1e-4), BOTH(linkage, kTests, 1e-4),
      // Shapes whose contacts have closed forms, in pyramids and in elliptic cones: on planes that are tilted, on a
      // table of the world, and on each other. The stairs have more than 1,000 pairs, in groups.
      EXACT(spinners, kTests), EXACT(slope, kTests), BOTH(stack, kTests, 1e-4), BOTH(stack_elliptic, kTests, 1e-4),
      BOTH(stairs, kTests, 1e-4),
      // Tendons, actuators on other parts than joints, activations, and ball joints. The rows of cords are stiffer than
      // those of contacts.
      BOTH(cords, kTests, 5e-4), BOTH(cords_elliptic, kTests, 5e-4), BOTH(ropes, kTests, 1e-4),
      BOTH(thrusters, kTests, 1e-4), BOTH(muscles, kTests, 1e-4), EXACT(muscles_rk4, kTests),
      BOTH(balls, kTests, 1e-4)};
  return all;
}

const std::vector<TestedRobot>& special_robots() {
  static const std::vector<TestedRobot> all = {
      // Long chains of joints, which are computed in loops (drl/physics/trees.hpp, tree_motion.hpp). Float has an error
      // of 4e-4 in the straight-line code of the serpents, too.
      BOTH(serpents, kTests, 1e-3), BOTH(snake, kTests, 1e-4), EXACT(snake_alone, kTests), EXACT(snake_noslip, kTests),
      BOTH(tumbler, kTests, 1e-4),  // its integrator treats gyroscopic forces implicitly
      EXACT(sled, kTests),
      // Shapes whose distances are iterated, models with the flag multiccd, and height fields.
      BOTH(heap, kTests, 1e-4), BOTH(bricks, kTests, 0), BOTH(hills, kTests, 1e-4), BOTH(stones, kTests, 1e-3),
      BOTH(bumps, kTests, 1e-4),
#ifdef DRL_HAS_DRUMS
      BOTH(drums, kTests, 1e-4),
#endif
#ifdef DRL_HAS_RODS
      BOTH(rods, kTests, 1e-3),
#endif
      // Contacts so stiff that lanes of float compute them in double. In float, the errors of 99 % of the states would
      // be up to 0.5.
      LANES(stiff_foot, kTests, 1e-6), LANES(stiff_skater, kTests, 1e-6)};
  return all;
}

const std::vector<TestedRobot>& randomised_robots() {
#define RANDOMISED(robot, folder) \
  { #robot, folder + #robot ".xml", DRL_EXACT(robot##_randomised), nullptr, 0 }
  static const std::vector<TestedRobot> all = {RANDOMISED(slider, kTests), RANDOMISED(crawler, kTests),
                                               RANDOMISED(manipulator, kTests), RANDOMISED(half_cheetah, kOurs),
                                               // Constants of tendons, muscles, welds, the noslip solver and pairs.
                                               RANDOMISED(cords, kTests), RANDOMISED(muscles, kTests),
                                               RANDOMISED(linkage, kTests), RANDOMISED(noslip, kTests),
                                               RANDOMISED(stack, kTests), RANDOMISED(toucher, kTests)};
  return all;
}

const TestedRobot& tested(const std::string& name) {
  for (const auto* robots : {&tested_robots(), &special_robots()})
    for (const TestedRobot& robot : *robots)
      if (robot.name == name) return robot;
  throw std::out_of_range("no robot " + name);
}

}  // namespace drl::test

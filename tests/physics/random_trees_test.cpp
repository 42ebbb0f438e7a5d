// Compares random robots, whose programs are evaluated in double, with libmujoco.
#include <gtest/gtest.h>

#include "../support/temp_folder.hpp"
#include "compared.hpp"
#include "evaluated_robot.hpp"
#include "exact_robot_of.hpp"
#include "random_tree.hpp"

namespace drl {
namespace {

using namespace test::kinds;
using namespace test;

// Numbers of states: all, those with contacts, with active limits and so on.
struct Count {
  int states = 0, touching = 0, touching_itself = 0, limited = 0, sticking = 0, slipping = 0;
};

// Returns whether a robot is of this kind. Some robots that should have pairs or move in a plane turn out to
// have no pairs or four different edges.
bool has_kind(const RobotKind& kind, const TracedRobot& robot) {
  return (robot.size("kPairs") > 0) == kind.has_pairs && robot.size("kEdges") == kind.edges &&
         (robot.size("kEqualityRows") > 0) == kind.has_equalities;
}

template <RobotKind kKind>
void expect_tree(const std::string& file, Count& count) {
  Compared compared(file, std::make_unique<ExactRobotOf<EvaluatedRobot<kKind>>>());
  const auto expect = [&](const RobotState& state, bool steps) {
    if (compared.reference.axes_meet(compared.reference.after_forward(state))) return;
    const mjData& d = steps ? compared.expect_step(state) : compared.expect_evaluation(state);
    count.states += 1, count.touching += d.ncon > 0 ? 1 : 0, count.limited += d.nl > 0 ? 1 : 0;
    count.touching_itself += compared.reference.pair_contacts(d) > 0 ? 1 : 0;
    int sticks = 0;
    for (int f = 0; f < d.nf; ++f) sticks += std::abs(d.efc_force[f]) < d.efc_frictionloss[f] ? 1 : 0;
    count.sticking += sticks > 0 ? 1 : 0, count.slipping += sticks < d.nf ? 1 : 0;
  };
  for (int s = 0; s < 60; ++s) {
    for (int skipped = 0; skipped < 2; ++skipped) compared.reference.next_state();
    expect(compared.reference.next_state(), true);
  }
  for (int s = 0; s < 10; ++s) expect(compared.reference.extreme_state(), false);
  for (int s = 0; s < 10; ++s) expect(compared.reference.folded_state(), false);
}

// Returns whether a tendon's length does not depend on any joint in the reference pose, or a weld holds bodies that
// cannot turn, which is refused.
bool has_row_without_inertia(const std::string& file) {
  const auto lines = robot_compiler::unsupported_lines(robot_compiler::read_robot_model(file));
  return std::ranges::any_of(
      lines, [](const std::string& line) { return line.find("without inverse inertia") != std::string::npos; });
}

// Compares this many random robots, to which an element is added, and to whose bodies an attribute.
template <RobotKind kKind>
Count expect_trees(int wanted, const std::string& element = "", const std::string& of_bodies = "") {
  const TempFolder folder;
  const std::string file = (folder / "tree.xml").string();
  Count count;
  int trees = 0;
  for (uint64_t k = 0; trees < wanted && k < 150; ++k) {
    std::string text = random_tree(kKind, k);
    text.insert(text.find("<worldbody>"), element);
    const std::string body = "<body ";
    for (size_t at = text.find(body); at != std::string::npos; at = text.find(body, at + 1))
      text.insert(at + body.size(), of_bodies);
    spill(file, text);
    if ((kKind.has_tendons || kKind.has_equalities) && has_row_without_inertia(file)) continue;
    const TracedRobot robot(file);
    if (!has_kind(kKind, robot)) continue;
    trees += 1;
    EvaluatedRobot<kKind>::take(robot);
    expect_tree<kKind>(file, count);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "tree " << k << ":\n" << text;
      break;
    }
  }
  EXPECT_EQ(trees, wanted);
  return count;
}
template <RobotKind kKind>
void expect_fifty_trees() {
  const Count count = expect_trees<kKind>(50);
  EXPECT_GE(count.touching, 1000);
  EXPECT_GE(count.touching_itself, kKind.has_pairs ? 700 : 0);
  EXPECT_GE(count.limited, 500);
  EXPECT_GE(count.sticking, kKind.has_dry_friction ? 400 : 0);
  EXPECT_GE(count.slipping, kKind.has_dry_friction ? 3000 : 0);
}

TEST(RandomTrees, MatchLibmujocoWithEuler) { expect_fifty_trees<kEuler>(); }
TEST(RandomTrees, MatchLibmujocoWithRungeKutta) { expect_fifty_trees<kRungeKutta>(); }
TEST(RandomTrees, MatchLibmujocoInThePlaneWithEuler) { expect_fifty_trees<kEulerPlane>(); }
TEST(RandomTrees, MatchLibmujocoInThePlaneWithRungeKutta) { expect_fifty_trees<kRungeKuttaPlane>(); }
TEST(RandomTrees, MatchLibmujocoWithSelfContactsAndEuler) { expect_fifty_trees<kEulerPairs>(); }
TEST(RandomTrees, MatchLibmujocoWithSelfContactsAndRungeKutta) { expect_fifty_trees<kRungeKuttaPairs>(); }

TEST(RandomTrees, MatchLibmujocoWithEqualitiesAndEuler) { expect_fifty_trees<with_equalities(kEuler)>(); }
TEST(RandomTrees, MatchLibmujocoWithEqualitiesInThePlane) { expect_fifty_trees<with_equalities(kRungeKuttaPlane)>(); }
TEST(RandomTrees, MatchLibmujocoWithEqualitiesAndSelfContacts) { expect_fifty_trees<with_equalities(kEulerPairs)>(); }

TEST(RandomTrees, MatchLibmujocoWithTendonsAndEuler) { expect_fifty_trees<with_tendons(kEuler)>(); }
TEST(RandomTrees, MatchLibmujocoWithTendonsInThePlane) { expect_fifty_trees<with_tendons(kRungeKuttaPlane)>(); }
TEST(RandomTrees, MatchLibmujocoWithTendonsAndSelfContacts) { expect_fifty_trees<with_tendons(kEulerPairs)>(); }

std::string without(const std::string& flags) { return "<option><flag " + flags + "/></option>"; }

TEST(RandomTrees, MatchLibmujocoWithoutPartsOfThePhysics) {
  for (const char* flag : {"constraint", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
                           "actuation", "eulerdamp"})
    expect_trees<kEuler>(10, without(flag + std::string("='disable'")));
  expect_trees<kEuler>(10, "<option viscosity='0.3' density='50'/>" + without("spring='disable' damper='disable'"));
  expect_trees<kEulerPairs>(10, without("filterparent='disable'"));
}
TEST(RandomTrees, MatchLibmujocoWithGravityCompensation) {
  const std::string tilted = "<option gravity='1 -2 -9'/>", compensated = "gravcomp='0.7' ";
  expect_trees<kEuler>(10, tilted, compensated);
  expect_trees<kRungeKutta>(10, tilted, compensated);
  expect_trees<kEuler>(10, "<default><joint actuatorgravcomp='true'/></default>" + tilted, compensated);
  expect_trees<kEuler>(10, without("spring='disable' damper='disable'"), compensated);
}
// Nothing moves a mocap body during training.
TEST(RandomTrees, MatchLibmujocoWithAMocapBody) {
  expect_trees<kEulerPairs>(
      10,
      "<worldbody><body mocap='true' pos='0.3 0 0.3' quat='1 1 0.5 0'><geom type='capsule' size='0.1 0.4' "
      "solmix='0'/></body>"
      "</worldbody>");
}

// Tests a robot that moves in a plane and has capsules across the plane. The first direction of friction is along the
// capsule, so an oblique capsule also pushes out of the plane.
template <RobotKind kKind>
void expect_capsule_across(const std::string& degrees, int edges) {
  const TempFolder folder;
  const std::string file = (folder / "across.xml").string();
  spill(file,
        "<mujoco><option timestep='" + std::to_string(kKind.microseconds / 1e6) +
            "'/><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.2'><joint type='slide' axis='1 0 0'/>"
            "<joint type='slide' axis='0 0 1'/><joint name='turn' axis='0 1 0' damping='0.01'/>"
            "<geom type='capsule' size='0.05 0.2' euler='90 0 0' density='500'/>"
            "<geom type='capsule' size='0.04 0.15' pos='0.2 0 -0.1' euler='90 " +
            degrees + " 0'/></body></worldbody><actuator><motor joint='turn' ctrlrange='-1 1'/></actuator></mujoco>");
  const TracedRobot robot(file);
  ASSERT_EQ(robot.size("kEdges"), edges);
  EvaluatedRobot<kKind>::take(robot);
  Count count;
  expect_tree<kKind>(file, count);
  EXPECT_GE(count.touching, 30);
}
TEST(RandomTrees, MatchLibmujocoInThePlaneWithACapsuleAcross) {
  expect_capsule_across<kEulerPlane>("0", 3);
  expect_capsule_across<kEuler>("45", 4);
}

}  // namespace
}  // namespace drl

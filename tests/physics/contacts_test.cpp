// Compares robots in double with libmujoco in states or to tolerances of their own.
#include <cmath>
#include <cstdio>
#include <map>

#include "drl/physics/mujoco_version.hpp"
#include "tested_robots.hpp"

namespace drl {
namespace {

using namespace test;

// Returns the number of pairs of geoms with several contacts.
int count_several(const mjData& d) {
  std::map<std::pair<int, int>, int> counts;
  for (int c = 0; c < d.ncon; ++c) counts[{d.contact[c].geom[0], d.contact[c].geom[1]}] += 1;
  return static_cast<int>(std::ranges::count_if(counts, [](const auto& pair) { return pair.second > 1; }));
}

struct CloseRobot {
  const char* name;
  double median, most;  // bounds of the errors of accelerations
  int below;            // how many of 600 states have an error of at most `most`
  int (*count)(const mjData& d, const Reference& reference);
  int least_count;  // the sum over all states
};
int count_contacts(const mjData& d, const Reference&) { return d.ncon; }

// Robots whose narrow phase iterates, so that their errors have other bounds than those of exact_test.cpp.
class Close : public testing::TestWithParam<CloseRobot> {};
INSTANTIATE_TEST_SUITE_P(
    Robots, Close,
    testing::Values(
        // Shapes whose distance is found by iteration, to within 1e-6 of a length: the normal of two curved surfaces,
        // and with it an acceleration, differs by about the square root of that in the worst case.
        CloseRobot{"heap", 1e-4, 1e-3, 594,
                   [](const mjData& d, const Reference& of) { return of.pair_contacts(d) > 1 ? 1 : 0; }, 100},
// The normals of curved shapes are iterated (drl/physics/gjk.hpp): drums, and all shapes on a tilted field.
#ifdef DRL_HAS_DRUMS
        CloseRobot{"drums", 1e-9, 1e-3, 571, [](const mjData& d, const Reference&) { return count_several(d); }, 1000},
#endif
#ifdef DRL_HAS_RODS
        CloseRobot{"rods", 1e-10, 1e-9, 594, [](const mjData& d, const Reference&) { return count_several(d); }, 2500},
#endif
        // In MuJoCo 4.0, the distance decides about the normal in a margin, and the search for a cylinder's distance
        // ends within 5e-7 m: libmujoco's own accelerations change by 1.5e-4 in 594 states if the last digits do.
        CloseRobot{"stones", 1e-9, mujoco::kConvexSearchIsStable ? 1e-3 : 1e-4, 594, count_contacts, 3000},
        // Contacts so stiff that lanes of float compute them in double. Friction along the rod's two tangents differs.
        CloseRobot{"bumps", 1e-10, 1e-8, 594, count_contacts, 600}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(Close, AccelerationsAreThoseOfLibmujoco) {
  const CloseRobot& robot = GetParam();
  Compared compared = tested(robot.name).compared();
  std::vector<double> errors;
  int sum = 0;
  for (int k = 0; k < 600; ++k) {
    const auto [error, data] = compared.evaluate(compared.reference.next_state());
    EXPECT_EQ(*compared.robot->unsolved, 0) << "state " << k;
    errors.push_back(error);
    sum += robot.count(*data, compared.reference);
  }
  std::ranges::sort(errors);
  EXPECT_LE(errors[300], robot.median);
  EXPECT_LE(errors[static_cast<size_t>(robot.below) - 1], robot.most);
  EXPECT_GE(sum, robot.least_count);
}
TEST(Bumps, AreComputedInDouble) { EXPECT_TRUE(tested("bumps").exact()->facts.is_wide); }

// Returns whether these are the accelerations of libmujoco in a state whose last digits differ.
bool is_nearby(Compared& compared, const RobotState& from) {
  for (int draw = 0; draw < 300; ++draw) {
    const mjData& other = compared.reference.after_forward(compared.reference.nearby(from, 3e-16));
    if (difference(compared.robot->qacc.data(), other.qacc, static_cast<int>(compared.reference.model().nv)) <= 1e-9)
      return true;
  }
  return false;
}

// If a polygon of more than four corners has parallel sides, as that of two rectangles has, several choices of four
// corners are equally good in MuJoCo, and the last digits decide.
TEST(Bricks, LieOnTheirFacesAsInLibmujoco) {
  Compared compared = tested("bricks").compared();
  int several = 0, undecided = 0;
  for (int k = 0; k < 2000; ++k) {
    const RobotState from = compared.reference.next_state();
    const auto [error, data] = compared.evaluate(from);
    several += count_several(*data);
    EXPECT_EQ(*compared.robot->unsolved, 0) << "state " << k;
    if (error <= 1e-9) continue;
    undecided += 1;
    EXPECT_TRUE(is_nearby(compared, from)) << "state " << k;
  }
  std::printf("%d pairs with several contacts, %d undecided states\n", several, undecided);
  EXPECT_LE(undecided, mujoco::kSidesTouch ? 200 : 100);  // in MuJoCo 4.0, tilted faces touch with polygons, too
  EXPECT_GE(several, 3000);
}

// Parallel capsules touch twice, at ends that are beside the other capsule.
TEST(Tangle, ParallelCapsulesTouchTwice) {
  Compared compared = tested("tangle").compared();
  Reference& reference = compared.reference;
  const mjModel& m = reference.model();
  const int rod = mj_name2id(&m, mjOBJ_GEOM, "rod"), elbow = mj_name2id(&m, mjOBJ_GEOM, "elbow");
  for (const double height : {0.0, 0.1, 0.2, -0.25, 0.3}) {
    RobotState from = reference.next_state();
    std::ranges::fill(from.qpos, 0.0);
    double* ball = from.qpos.data() + 4;
    mju_negQuat(ball + 3, m.geom_quat + 4 * rod);  // the rod is upright, as the elbow is
    mjtNum off[3];
    mju_rotVecQuat(off, m.geom_pos + 3 * rod, ball + 3);
    const double at[3] = {0.06, 0.05, 0.14 + height};
    for (int k = 0; k < 3; ++k) ball[k] = at[k] - off[k];
    const mjData& expected = reference.after_forward(from);
    int contacts = 0;
    for (int c = 0; c < expected.ncon; ++c) {
      const int* geom = expected.contact[c].geom;
      contacts += std::minmax(geom[0], geom[1]) == std::minmax(rod, elbow) ? 1 : 0;
    }
    EXPECT_EQ(contacts, 2);
    compared.expect_evaluation(from);
    ASSERT_FALSE(HasFailure()) << height;
  }
}

// Half of the states are fast, deep in limits and contacts; the others creep near their start with idle motors. The
// warm starts are far from the solution. The test counts how often each joint sticks, or slips in either direction.
TEST(Manipulator, SticksAndSlipsLikeLibmujoco) {
  Compared compared = tested("manipulator").compared();
  Reference& reference = compared.reference;
  enum { kPan, kPin = 7, kJoints };
  int sticking[kJoints] = {}, slipping[kJoints] = {}, slipping_back[kJoints] = {}, limits = 0, contacts = 0;
  const auto is_position = [&](size_t a) { return reference.model().actuator_biasprm[mjNBIAS * a + 1] < 0; };
  for (int k = 0; k < 1000; ++k) {
    const bool is_fast = k % 2 == 0;
    RobotState from = is_fast ? reference.extreme_state() : reference.state_near_start();
    const double middle = is_fast ? 0.01 : 1e-5;
    for (double& v : from.qvel) v = std::copysign(middle * std::pow(10, 3 * reference.draw()), reference.draw());
    for (size_t a = 0; a < from.ctrl.size() && !is_fast; ++a) from.ctrl[a] = is_position(a) ? from.qpos[a] : 0;
    for (double& a : from.warm_start) a = std::copysign(std::pow(10, 3 * reference.draw()), reference.draw());
    const mjData& expected = compared.expect_evaluation(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
    limits += expected.nl > 0 ? 1 : 0, contacts += expected.ncon > 0 ? 1 : 0;
    for (int f = 0; f < expected.nf; ++f) {
      const int dof = expected.efc_id[f], joint = reference.model().dof_jntid[dof];
      if (joint == kPin && dof < kPin + 3) continue;  // it is in free fall
      const double force = expected.efc_force[f], most = expected.efc_frictionloss[f];
      (std::abs(force) < most ? sticking : force > 0 ? slipping : slipping_back)[joint] += 1;
    }
  }
  EXPECT_GE(limits, 300);
  EXPECT_GE(contacts, 300);
  for (const int joint : {0, 1, 2, 3, 4, 5, 7}) {
    EXPECT_GE(sticking[joint], 400) << joint;
    EXPECT_GE(std::min(slipping[joint], slipping_back[joint]), joint == kPan ? 20 : 100) << joint;
  }
}

// During one second from rest, the wrist stays where it is although its motors are idle. Without friction it falls.
TEST(Manipulator, FrictionHoldsTheWristUp) {
  Compared compared = tested("manipulator").compared();
  const auto model = load_model(std::string(DRL_TEST_DATA) + "/../" + tested("manipulator").file);
  const int bend = model->jnt_qposadr[mj_name2id(model.get(), mjOBJ_JOINT, "bend")];
  std::fill_n(model->dof_frictionloss, model->nv, 0);
  const std::unique_ptr<mjData, DeleteData> without(mj_makeData(model.get()));
  compared.set({{model->qpos0, model->qpos0 + model->nq},
                std::vector<double>(13),
                std::vector<double>(13),
                std::vector<double>(7)});
  for (int t = 0; t < 500; ++t) {
    compared.robot->step();
    mj_step(model.get(), without.get());
  }
  EXPECT_LT(std::abs(compared.robot->qpos[static_cast<size_t>(bend)]), 0.01);
  EXPECT_GT(std::abs(without->qpos[bend]), 0.3);
}

// In half of the states, everything turns fast. There, implicitfast would leave out much of the change of velocity.
TEST(Tumbler, StepsMatchLibmujoco) {
  Compared compared = tested("tumbler").compared();
  Reference& reference = compared.reference;
  const auto model = load_model(std::string(DRL_TEST_DATA) + "/../" + tested("tumbler").file);
  model->opt.integrator = mjINT_IMPLICITFAST;
  const std::unique_ptr<mjData, DeleteData> fast(mj_makeData(model.get()));
  int differ = 0;
  for (int k = 0; k < 1000; ++k) {
    RobotState from = reference.next_state();
    if (k % 2 == 0)
      for (double& v : from.qvel) v = 15 * reference.draw();
    const mjData& expected = compared.expect_step(from);
    ASSERT_FALSE(HasFailure()) << "state " << k;
    std::ranges::copy(from.qpos, fast->qpos);
    std::ranges::copy(from.qvel, fast->qvel);
    std::ranges::copy(from.ctrl, fast->ctrl);
    mj_step(model.get(), fast.get());
    differ += difference(fast->qvel, expected.qvel, static_cast<int>(model->nv)) > 1e-3 ? 1 : 0;
  }
  EXPECT_GE(differ, 300);
  for (int k = 0; k < 10; ++k) compared.expect_run(reference.next_state(), 100);
}

// A force within the friction cone does not move the sled at all. A larger one does, against the friction coefficient
// times the normal force, which balances the weight and accelerates the sled upwards.
TEST(NoslipSolver, HoldsForcesWithinTheFrictionCone) {
  constexpr double kFriction = 0.5, kGravity = 9.81;
  const std::unique_ptr<ExactRobot> sled = tested("sled").exact();
  for (const double pull : {0.0, 1.0, -2.0, 4.0, 40.0, -60.0}) {
    sled->ctrl[0] = pull;
    sled->evaluate();
    const double normal = sled->qacc[2] + kGravity;  // of 1 kg
    ASSERT_GT(kFriction * normal, 4);
    ASSERT_LT(kFriction * normal, 40);
    const double held = std::abs(pull) < 40 ? pull : std::copysign(kFriction * normal, pull);
    EXPECT_NEAR(sled->qacc[0], pull - held, 1e-9) << pull;
    EXPECT_NEAR(sled->qacc[1], 0, 1e-9);
    EXPECT_EQ(*sled->unsolved, 0);
  }
}

// Robots without pairs and contacts have a noslip solver, too.
TEST(NoslipSolver, SolvesRobotsWithoutContacts) {
  const test::RobotFacts facts = tested("gears").exact()->facts;
  EXPECT_EQ(facts.pairs, 0);
}

// The time is that of the beginning of a step, also where the stages of a step have times of their own.
TEST(Scout, ShowsTheTimeOfTheBeginningOfAStep) {
  for (const char* robot : {"scout", "scout_rk4"}) {
    Compared compared = tested(robot).compared();
    const mjModel& m = compared.reference.model();
    const std::unique_ptr<mjData, DeleteData> data(mj_makeData(&m));
    compared.set(compared.reference.state_of(*data));
    const int number = m.sensor_adr[mj_name2id(&m, mjOBJ_SENSOR, "time")];
    for (int t = 0; t < 5; ++t) {
      mj_step(&m, data.get());
      compared.robot->step();
      const double shown = compared.robot->derive().sensordata[static_cast<size_t>(number)];
      EXPECT_NEAR(shown, data->sensordata[number], 1e-15) << robot;
      EXPECT_NEAR(shown, 0.002 * t, 1e-15) << robot;
    }
  }
}

}  // namespace
}  // namespace drl

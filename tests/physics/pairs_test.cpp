// Compares contacts between spheres and capsules with values computed by hand.
#include "drl/physics/pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drl/physics/loop.hpp"
#include "physics/cushions.hpp"
#include "physics/pile.hpp"
#include "physics/stairs.hpp"
#include "tested_robots.hpp"
// Must come after the robots' headers.
#include "drl/physics/task.hpp"

namespace drl {
namespace {

using namespace physics;
using Axes = TwoAxes<double>;

// An axis along x with half length 2.
const GeomAxis<double> kAlong{{0, 0, 0}, {2, 0, 0}};

TEST(TwoAxes, CanBeNearestBetweenTheirEnds) {
  const GeomAxis<double> other{{1, 0.5, 3}, {0, 1, 0}};  // perpendicular, 3 above
  const Axes axes(kAlong, other);
  double x, y;
  axes.nearest(x, y);
  EXPECT_NEAR(x, 0.5, 1e-15);
  EXPECT_NEAR(y, -0.5, 1e-15);
  const PairContact<double> c = axes.contact(x, y, 1, 0.5);
  EXPECT_NEAR(c.distance, 1.5, 1e-15);
  EXPECT_NEAR(c.point[0], 1, 1e-15);
  EXPECT_NEAR(c.point[2], 1 + 0.75, 1e-15);  // half way between the surfaces
  EXPECT_NEAR(c.normal[2], 1, 1e-15);
}

TEST(TwoAxes, CanBeNearestAtAnEnd) {
  double x, y;
  const GeomAxis<double> above{{5, 0, 4}, {0, 0, 1}};  // its lower end at (5, 0, 3), beyond the other's at (2, 0, 0)
  const Axes axes(kAlong, above);
  axes.nearest(x, y);
  EXPECT_EQ(x, 1);
  EXPECT_EQ(y, -1);
  EXPECT_NEAR(axes.contact(x, y, 1, 1).distance, std::sqrt(18) - 2, 1e-15);
  const GeomAxis<double> beside{{1, 3, 0}, {0, 0, 0}};  // a sphere
  const Axes sphere(beside, kAlong);
  sphere.nearest(x, y);
  EXPECT_NEAR(y, 0.5, 1e-15);
  EXPECT_NEAR(sphere.contact(x, y, 1, 1).normal[1], -1, 1e-15);
}

// If the axes of two capsules meet, MuJoCo's normal is perpendicular to both.
TEST(TwoAxes, NormalOfMeetingAxesIsPerpendicularToBoth) {
  const GeomAxis<double> other{{1, 0, 0}, {0, 0.5, 0}};
  const Axes axes(kAlong, other);
  double x, y;
  axes.nearest(x, y);
  const PairContact<double> c = axes.contact(x, y, 0.2, 0.1);
  EXPECT_NEAR(c.distance, -0.3, 1e-15);
  EXPECT_NEAR(c.normal[2], 1, 1e-15);
}

// The first tangent of a normal along z is y; that of a normal along y is z.
TEST(PairContact, TangentsMatchMujoco) {
  const PairContact<double> up{{0, 0, 0}, {0, 0, 1}, 0}, left{{0, 0, 0}, {0, 1, 0}, 0};
  double tangent[3], second[3];
  find_tangents(up, tangent, second);
  EXPECT_THAT(tangent, testing::ElementsAre(0, 1, 0));
  EXPECT_THAT(second, testing::ElementsAre(-1, 0, 0));
  find_tangents(left, tangent, second);
  EXPECT_THAT(tangent, testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(second, testing::ElementsAre(1, 0, 0));
}

// With six of the seven balls in one place, there are fifteen contacts with sixty rows over thirty-six degrees of
// freedom, and the result matches libmujoco. The seventh ball makes more contacts than there are places, which
// `unsolved` reports.
TEST(PairContacts, TooManyCountAsUnsolved) {
  using P = pile_robot::Physics<double>;
  test::Reference reference("tests/physics/models/pile.xml");
  for (int k = 0; k < 20; ++k) {
    test::RobotState from = reference.state_near_start();
    for (const bool has_seventh : {false, true}) {
      from.qpos[7 * 6] = has_seventh ? 0 : 10;
      const mjData& expected = reference.after_forward(from);
      ASSERT_EQ(expected.ncon, has_seventh ? 21 : 15);
      P::State state;
      P::Stage stage;
      std::ranges::copy(from.qpos, state.qpos), std::ranges::copy(from.qvel, state.qvel);
      std::ranges::fill(state.warm_start, 0.0);
      evaluate<P>(state, nullptr, stage);
      EXPECT_EQ(stage.unsolved, has_seventh ? 1 : 0);
      if (has_seventh) continue;
      EXPECT_LE(test::difference(stage.qacc, expected.qacc, P::nv), 1e-10);
    }
  }
}

// A contact with the floor, the table or another ball counts if d / (1 - d) exceeds 500, for the impedance
// d = 0.1 + 0.8999 depth / 0.01. The balls lie higher in random motion, so that float is accurate there.
TEST(PairRows, StifferContactsThanInRandomMotionCountAsUnsolved) {
  using P = cushions_robot::Physics<double>;
  static_assert(P::kContacts > 0 && P::kGroundPairs > 0 && P::kPairs > 0 && !P::kWide);
  const double start = 0.005;  // the depth of all contacts at qpos 0
  for (const auto& [stiffness, count] : {std::pair(400.0, 0.0), {600.0, 1.0}}) {
    const double lower = (stiffness / (1 + stiffness) - 0.1) / 0.8999 * 0.01 - start;
    for (const std::array<double, 3>& qpos : {std::array{-lower, 0.0, 0.0}, {0.0, -lower, 0.0}, {0.0, 0.0, -lower}}) {
      P::State state{};
      P::Stage stage;
      std::ranges::copy(qpos, state.qpos);
      evaluate<P>(state, nullptr, stage);
      EXPECT_EQ(stage.unsolved, count) << qpos[0] << ' ' << qpos[1] << ' ' << qpos[2];
    }
  }
}

// A task that only steps the pile.
template <class R>
struct Pile {
  using F = typename R::F;
  static constexpr const char* name = "Pile";
  static constexpr int obs_dim = 1, step_limit = 10;
  static constexpr double dt = 0.004;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr RobotModel model{"pile.xml", 2};
  static void reset(R& robot, Draws<F>&) {
    for (int k = 0; k < 7; ++k) robot.set_qpos(7 * k, F(0.02 * k)), robot.set_qpos(7 * k + 1, F(0.005 * k * k));
  }
  static Step<F> step(R& robot, const F*) {
    robot.advance(nullptr);
    return {.reward = F(0)};
  }
  template <class Out>
  static void observe(const R& robot, Out obs) {
    obs[0] = robot.qpos(0);
  }
};

// The metrics of the task count the time steps with more contacts than places. Here these are both time steps of the
// step.
TEST(PairContacts, TooManyAppearInTheMetrics) {
  using Task = PhysicsTask<Pile>::Of<double>;
  ASSERT_STREQ(Task::metrics.back(), "unsolved");
  for (const bool has_seventh : {false, true}) {
    Task::State state{};
    Task::Scratch scratch;
    Draws<double> draws(1, 0, 0);
    const double action[1] = {};
    task::reset<Task, double>(state, scratch, draws, {});
    if (!has_seventh) state.physics.qpos[7 * 6] = 10;
    const auto step = task::step<Task, double>(state, scratch, action, draws, {});
    EXPECT_EQ(step.metrics[0], has_seventh ? 2 : 0);
  }
}

// A step finds the pairs that are near group by group, and among those that it listed before while geoms move little;
// testing each pair must find the same ones.
TEST(PairGroups, FindAllPairsThatAreNear) {
  using P = stairs_robot::Physics<double>;
  test::Reference reference(test::tested("stairs").file);
  const auto work = std::make_unique<P::Work>();
  int near = 0, reused = 0;  // pairs; poses in which the list was an older one
  test::RobotState at;
  for (int k = 0; k < 6000; ++k) {
    if (k % 200 == 0) at = k % 400 == 0 ? reference.next_state() : reference.folded_state();
    for (double& x : at.qpos) x += 1e-2 * reference.draw();
    P::smooth(at.qpos.data(), at.qvel.data(), at.ctrl.data(), nullptr, nullptr, *work);
    physics::place_still_geoms<P>(*work);
    physics::find_near_pairs<P>(*work);
    std::vector<uint32_t> expected;
    for (int p = P::kGroundPairs; p < P::kGroundPairs + P::kPairs; ++p)
      if (physics::may_touch<P>(*work, P::pair(p))) expected.push_back(static_cast<uint32_t>(p));
    ASSERT_EQ(std::vector<uint32_t>(work->near_pair, work->near_pair + work->near_pairs), expected) << "state " << k;
    near += work->near_pairs, reused += work->listed_pairs.uses > 0 ? 1 : 0;
  }
  EXPECT_GE(near, 1000);
  EXPECT_GE(reused, 3000);
}

}  // namespace
}  // namespace drl

// Tests robots whose models have the flag multiccd.
#include "compared.hpp"
#include "lanes.hpp"
#include "multiccd_robots.hpp"

namespace drl {
namespace {

using test::Compared;
constexpr const char *kBricks = "tests/physics/models/bricks.xml", *kDrums = "tests/physics/models/drums.xml";

// Returns the number of pairs of geoms with several contacts.
int count_several(const mjData& d) {
  std::map<std::pair<int, int>, int> counts;
  for (int c = 0; c < d.ncon; ++c) counts[{d.contact[c].geom[0], d.contact[c].geom[1]}] += 1;
  return static_cast<int>(std::ranges::count_if(counts, [](const auto& pair) { return pair.second > 1; }));
}

// Returns whether these are the accelerations of libmujoco in a state whose last digits differ.
template <class P>
bool is_nearby(Compared<P>& compared, const RobotState& from) {
  for (int draw = 0; draw < 300; ++draw) {
    const mjData& other = compared.reference.after_forward(compared.reference.nearby(from, 3e-16));
    if (test::difference(compared.stage.qacc, other.qacc, P::nv) <= 1e-9) return true;
  }
  return false;
}

// If a polygon of more than four corners has parallel sides, as that of two rectangles has, several choices of four
// corners are equally good in MuJoCo, and the last digits decide.
TEST(Bricks, LieOnTheirFacesAsInLibmujoco) {
  using P = bricks_robot::Physics<double>;
  Compared<P> compared(kBricks);
  int several = 0, undecided = 0;
  for (int k = 0; k < 2000; ++k) {
    const RobotState from = compared.reference.next_state();
    const mjData& expected = compared.reference.after_forward(from);
    several += count_several(expected);
    compared.set(from);
    physics::evaluate<P>(compared.state, compared.ctrl, compared.stage);
    EXPECT_EQ(compared.stage.unsolved, 0) << "state " << k;
    if (test::difference(compared.stage.qacc, expected.qacc, P::nv) <= 1e-9) continue;
    undecided += 1;
    EXPECT_TRUE(is_nearby(compared, from)) << "state " << k;
  }
  std::printf("%d pairs with several contacts, %d undecided states\n", several, undecided);
  EXPECT_LE(undecided, 100);
  EXPECT_GE(several, 3000);
}
// In float, more choices are undecided than in double.
TEST(Lanes, OfBricksAreIndependentAndMostlyAccurate) {
  Batch<bricks_robot> batch(kBricks);
  expect_independent(batch);
  const std::vector<double> errors = batch.errors(batch.step(Loops()));
  std::printf("errors in float: median %.0e, 90 %% %.0e, most %.0e\n", errors[kStates / 2], errors[kStates * 9 / 10],
              errors.back());
  EXPECT_LE(errors[kStates / 2], 1e-4);
  EXPECT_LE(errors[kStates * 9 / 10], 1e-3);
}

// The normals of curved shapes are iterated (drl/physics/gjk.hpp).
TEST(Drums, LieAsInLibmujoco) {
  using P = drums_robot::Physics<double>;
  Compared<P> compared(kDrums);
  std::vector<double> errors;
  int several = 0;
  for (int k = 0; k < 600; ++k) {
    const RobotState from = compared.reference.next_state();
    const mjData& expected = compared.reference.after_forward(from);
    several += count_several(expected);
    compared.set(from);
    physics::evaluate<P>(compared.state, compared.ctrl, compared.stage);
    EXPECT_EQ(compared.stage.unsolved, 0) << "state " << k;
    errors.push_back(test::difference(compared.stage.qacc, expected.qacc, P::nv));
  }
  std::ranges::sort(errors);
  std::printf("%d pairs with several contacts; errors: median %.0e, 95 %% %.0e, 99 %% %.0e\n", several, errors[300],
              errors[570], errors[594]);
  EXPECT_LE(errors[300], 1e-9);
  EXPECT_LE(errors[570], 1e-3);
  EXPECT_GE(several, 1000);
}
TEST(Lanes, OfDrumsAreIndependentAndAccurate) { expect_lanes<drums_robot>(kDrums); }

}  // namespace
}  // namespace drl

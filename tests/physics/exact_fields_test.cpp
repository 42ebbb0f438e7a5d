// Tests contacts with height fields.
#include "compared.hpp"
#include "field_robots.hpp"
#include "lanes.hpp"

namespace drl {
namespace {

using test::Compared;
constexpr const char *kHills = "tests/physics/models/hills.xml", *kStones = "tests/physics/models/stones.xml",
                     *kBumps = "tests/physics/models/bumps.xml";
using Hills = hills_robot::Physics<double>;
using Stones = stones_robot::Physics<double>;

TEST(Hills, CarryAQuadrupedAsInLibmujoco) {
  Compared<Hills> compared(kHills);
  int contacts = 0;
  for (int k = 0; k < 1000; ++k) {
    contacts += compared.expect_step(compared.reference.next_state()).ncon;
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
  EXPECT_GE(contacts, 3000);
}
// The normals that libmujoco's GJK computes are accurate to 1e-13.
TEST(Hills, CarryAQuadrupedForManySteps) {
  Compared<Hills> compared(kHills);
  for (int k = 0; k < 10; ++k) {
    for (int t = 0; t < 35; ++t) compared.reference.next_state();
    compared.expect_run(compared.reference.next_state(), 200, 1e-13);
    ASSERT_FALSE(HasFailure()) << "run " << k;
  }
}
TEST(Lanes, OfHillsAreIndependentAndAccurate) { expect_lanes<hills_robot>(kHills); }

// The field ends at x = 2.8 m. Neighbouring lanes overlap different numbers of cells there.
TEST(Lanes, OfHillsAreIndependentAtTheBorder) {
  int n = 0;
  expect_independent(Batch<hills_robot>(kHills, [&](RobotState& s) {
    s.qpos[0] = 2.8 + 0.02 * (n % 23 - 11), s.qpos[2] = 0.25 + 0.03 * (n % 7);
    n += 1;
  }));
}

// Pair k is that of the ground (geom 0) and geom k + 1.
bool has_too_many_contacts(const mjData& d) {
  for (int k = 0; k < Hills::kGroundPairs; ++k) {
    const auto is_of_pair = [&](const mjContact& c) { return c.geom[1] == k + 1; };
    if (std::count_if(d.contact, d.contact + d.ncon, is_of_pair) > Hills::pair(k).places) return true;
  }
  return false;
}
TEST(Hills, CountContactsForWhichALaneHasNoPlace) {
  Compared<Hills> compared(kHills);
  int crowded = 0;
  for (int k = 0; k < 300; ++k) {
    const RobotState from = compared.reference.extreme_state();
    if (!has_too_many_contacts(compared.reference.after_forward(from))) {
      compared.expect_evaluation(from);
      ASSERT_FALSE(HasFailure()) << "state " << k;
      continue;
    }
    crowded += 1;
    compared.set(from);
    physics::evaluate<Hills>(compared.state, compared.ctrl, compared.stage);
    ASSERT_EQ(compared.stage.unsolved, 1) << "state " << k;
  }
  EXPECT_GE(crowded, 1);
}

TEST(Hills, MayBeReplacedByOthers) {
  Compared<Hills> compared(kHills);
  const mjModel& m = compared.reference.model();
  for (int n = 0; n < 3; ++n) {
    float* heights = compared.reference.heights(0);
    for (int k = 0; k < m.nhfielddata; ++k) heights[k] = static_cast<float>(0.5 + 0.2 * compared.reference.draw());
    set_heights<Hills>(0, m.hfield_nrow[0], m.hfield_ncol[0], m.hfield_size, heights);
    physics::begin_parameters<Hills>(compared.stage);
    int contacts = 0;
    for (int k = 0; k < 100; ++k) {
      contacts += compared.expect_step(compared.reference.next_state()).ncon;
      ASSERT_FALSE(HasFailure()) << "state " << k;
    }
    EXPECT_GE(contacts, 100);
  }
}
TEST(Hills, WithoutHeightsAreNotSolved) {
  Compared<Hills> compared(kHills);
  const HeightMap none[Hills::kHeightFields] = {};
  compared.set(compared.reference.next_state());
  compared.stage.height_maps = none;
  physics::evaluate<Hills>(compared.state, compared.ctrl, compared.stage);
  EXPECT_EQ(compared.stage.unsolved, 1);
}
// 4 x 5 points are 3 x 4 cells, in 2 x 2 tiles. Tiles share the points between them.
TEST(HeightMaps, HaveTheHighestPointOfEachTile) {
  static_assert(HeightMap::kTile == 2);
  float heights[4 * 5] = {};
  heights[1 * 5 + 1] = 0.3f, heights[2 * 5 + 2] = 0.5f, heights[3 * 5 + 4] = 0.7f, heights[0 * 5 + 2] = 0.6f;
  const double size[4] = {2, 1.5, 1, 0.1};
  const SharedHeights shared(4, 5, size, heights);
  const HeightMap& map = shared.map();
  ASSERT_EQ(map.tile_rows(), 2);
  ASSERT_EQ(map.tile_columns(), 2);
  EXPECT_EQ(std::vector<float>(map.tiles, map.tiles + 4), (std::vector<float>{0.6f, 0.6f, 0.5f, 0.7f}));
  EXPECT_EQ(map.highest, 0.7f);
}

// Returns the errors of accelerations in 600 states, in ascending order, and checks that there are contacts.
template <class P>
std::vector<double> errors_of(Compared<P> compared, int least_contacts) {
  std::vector<double> errors;
  int contacts = 0;
  for (int k = 0; k < 600; ++k) {
    const RobotState from = compared.reference.next_state();
    const mjData& expected = compared.reference.after_forward(from);
    contacts += expected.ncon;
    compared.set(from);
    physics::evaluate<P>(compared.state, compared.ctrl, compared.stage);
    EXPECT_EQ(compared.stage.unsolved, 0) << "state " << k;
    errors.push_back(test::difference(compared.stage.qacc, expected.qacc, P::nv));
  }
  EXPECT_GE(contacts, least_contacts);
  std::ranges::sort(errors);
  return errors;
}
// Bodies of all shapes on a tilted field. The normals of curved shapes are iterated (drl/physics/gjk.hpp).
TEST(Stones, LieAsInLibmujoco) {
  const std::vector<double> errors = errors_of(Compared<Stones>(kStones), 3000);
  EXPECT_LE(errors[300], 1e-9);
  EXPECT_LE(errors[593], 1e-4);
}
// Contacts so stiff that lanes of float compute them in double. Friction along the rod's two tangents differs.
TEST(Bumps, CarryWhatSlidesAsInLibmujoco) {
  static_assert(physics::is_wide<bumps_robot::Physics<float>>());
  const std::vector<double> errors = errors_of(Compared<bumps_robot::Physics<double>>(kBumps), 600);
  EXPECT_LE(errors[300], 1e-10);
  EXPECT_LE(errors[593], 1e-8);
}
TEST(Lanes, OfBumpsAreIndependentAndAccurate) { expect_lanes<bumps_robot>(kBumps); }
TEST(Lanes, OfStonesAreIndependentAndAccurate) { expect_lanes<stones_robot>(kStones, 1e-3); }

}  // namespace
}  // namespace drl

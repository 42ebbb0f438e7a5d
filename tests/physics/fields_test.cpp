// Tests contacts with height fields.
#include "drl/physics/loop.hpp"
#include "drl/physics/shared_heights.hpp"
#include "physics/hills.hpp"
#include "tested_robots.hpp"

namespace drl {
namespace {

using namespace test;
using Hills = hills_robot::Physics<double>;

TEST(Hills, CarryAQuadrupedAsInLibmujoco) {
  Compared compared = test::tested("hills").compared();
  int contacts = 0;
  for (int k = 0; k < 1000; ++k) {
    contacts += compared.expect_step(compared.reference.next_state()).ncon;
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
  EXPECT_GE(contacts, 3000);
}
// The normals that libmujoco's GJK computes are accurate to 1e-13.
TEST(Hills, CarryAQuadrupedForManySteps) {
  Compared compared = test::tested("hills").compared();
  for (int k = 0; k < 10; ++k) {
    for (int t = 0; t < 35; ++t) compared.reference.next_state();
    compared.expect_run(compared.reference.next_state(), 200, 1e-13);
    ASSERT_FALSE(HasFailure()) << "run " << k;
  }
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
  Compared compared = test::tested("hills").compared();
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
    compared.robot->evaluate();
    ASSERT_EQ(*compared.robot->unsolved, 1) << "state " << k;
  }
  EXPECT_GE(crowded, 1);
}

TEST(Hills, MayBeReplacedByOthers) {
  Compared compared = test::tested("hills").compared();
  const mjModel& m = compared.reference.model();
  for (int n = 0; n < 3; ++n) {
    float* heights = compared.reference.heights(0);
    for (int k = 0; k < m.nhfielddata; ++k) heights[k] = static_cast<float>(0.5 + 0.2 * compared.reference.draw());
    compared.robot->begin(m);
    int contacts = 0;
    for (int k = 0; k < 100; ++k) {
      contacts += compared.expect_step(compared.reference.next_state()).ncon;
      ASSERT_FALSE(HasFailure()) << "state " << k;
    }
    EXPECT_GE(contacts, 50);
  }
}
TEST(Hills, WithoutHeightsAreNotSolved) {
  Compared compared = test::tested("hills").compared();
  compared.set(compared.reference.next_state());
  height_maps<Hills::kModelKey, Hills::kHeightFields>[0] = {};
  compared.robot->evaluate();
  EXPECT_EQ(*compared.robot->unsolved, 1);
  compared.robot->begin(compared.reference.model());
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

}  // namespace
}  // namespace drl

// Compares the distances of two shapes with those of libmujoco, for every pair of kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "drl/physics/distance_sensors.hpp"
#include "shape_poses.hpp"

namespace drl {
namespace {

using physics::ShapeDistance, physics::ShapeKind;
using namespace test;

struct PairOfKinds {
  ShapeKind first, second;
};
class Distances : public testing::TestWithParam<PairOfKinds> {};

// Shapes that overlap, are near each other or far apart.
TEST_P(Distances, AreThoseOfLibmujoco) {
  const auto [first, second] = GetParam();
  TwoGeoms geoms;
  Draws draw(static_cast<uint32_t>(10 * static_cast<int>(first) + static_cast<int>(second)));
  int overlapping = 0, far = 0;
  double distance = 0, point = 0;
  for (int n = 0; n < 2000; ++n) {
    GeomPose a{.kind = first, .mesh = draw.below(geoms.meshes())};
    GeomPose b{.kind = second, .mesh = draw.below(geoms.meshes())};
    for (GeomPose* pose : {&a, &b}) {
      for (double& x : pose->size) x = draw(0.05, 0.3);
      draw.turn(pose->quat);
    }
    a.position = {0.1, -0.2, 0.3}, b.position = a.position + draw(0, 1.5) * draw.direction();
    const double most = n % 4 == 0 ? 0 : draw(0.2, 2);
    double expected_points[6];
    const double expected = geoms.distance(a, b, most, expected_points);
    const ShapeDistance found = physics::shape_distance(geoms.shape(0), geoms.shape(1), most, kOptions);
    distance = std::max(distance, std::abs(std::min(found.distance, most) - expected));
    overlapping += expected < 0 ? 1 : 0, far += expected < most && expected > 0.1;
    if (!(expected < most)) continue;
    for (int k = 0; k < 3; ++k) {
      point = std::max(point, std::abs(found.on_a[k] - expected_points[k]));
      point = std::max(point, std::abs(found.on_b[k] - expected_points[3 + k]));
    }
  }
  std::printf("%d overlap, %d are far; distance %.0e, point %.0e\n", overlapping, far, distance, point);
  EXPECT_GE(overlapping, 100);
  EXPECT_GE(far, 100);
  EXPECT_LE(distance, 1e-12);
  EXPECT_LE(point, 1e-10);
}

std::vector<PairOfKinds> pairs_of_kinds() {
  std::vector<PairOfKinds> pairs;
  for (int a = 0; a < kKinds; ++a)
    for (int b = 1; b < kKinds; ++b) pairs.push_back({static_cast<ShapeKind>(a), static_cast<ShapeKind>(b)});
  return pairs;
}
INSTANTIATE_TEST_SUITE_P(All, Distances, testing::ValuesIn(pairs_of_kinds()), [](const auto& pair) {
  return std::string(kNames[static_cast<int>(pair.param.first)]) + "_" + kNames[static_cast<int>(pair.param.second)];
});

}  // namespace
}  // namespace drl

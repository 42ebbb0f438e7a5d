// Compares elliptic cones with projections, and contacts between capsules and boxes with values computed by hand.
#include "drl/physics/cones.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drl/lanes/philox.hpp"
#include "drl/physics/boxes.hpp"

namespace drl {
namespace {

using namespace physics;

// Returns a pseudorandom number from -1 to 1.
double draw(uint64_t index) {
  return 2 * static_cast<double>(uniform01(random_bits(5, Purpose::benchmark, index, 0)[0])) - 1;
}

// Returns a cone with sliding friction 0.7, impratio 10 and hardness 30, at the k-th random place. The places cover all
// zones.
Cone<double> cone_at(uint64_t k) {
  Cone<double> cone;
  const double friction[5] = {0.7, 0.7, 0.02, 0.01, 0.01};
  cone.set_friction(6, friction, std::sqrt(0.1));
  cone.hardness = 30;
  cone.begin_solution(false);
  for (uint64_t r = 0; r < kResiduals; ++r) cone.next_u[r] = draw(kResiduals * k + r) * (r == 0 ? 2 : 0.15);
  cone.find_next(kResiduals);
  return cone;
}
// Returns the cost: 15 times the squared distance from u to the cone N >= mu T. The cone's nearest point is on its edge
// N = mu T or at 0.
double cost(double mu, const double* u) {
  double t = 0;
  for (int r = 1; r < kResiduals; ++r) t += u[r] * u[r];
  t = std::sqrt(t);
  if (u[0] >= mu * t) return 0;
  const double along = (mu * u[0] + t) / std::sqrt(1 + mu * mu), square = u[0] * u[0] + t * t;
  return 15 * (along > 0 ? square - along * along : square);
}

TEST(Cone, ForceAndStiffnessAreDerivativesOfTheCost) {
  int zones[3] = {};
  for (uint64_t k = 0; k < 300; ++k) {
    const Cone<double> cone = cone_at(k);
    ASSERT_NEAR(cone.mu, 0.7 * std::sqrt(0.1), 1e-15);
    zones[cone.next.normal == 0 ? 0 : cone.next.cross != 0 ? 1 : 2] += 1;
    double push[kResiduals], turned[kResiduals], unit[kResiduals];
    cone.next.times(cone.next_u, kResiduals, push);
    for (int r = 0; r < kResiduals; ++r) {
      constexpr double h = 1e-5;
      double a[kResiduals], b[kResiduals];
      for (int i = 0; i < kResiduals; ++i) a[i] = b[i] = cone.next_u[i], unit[i] = i == r;
      a[r] += h, b[r] -= h;
      EXPECT_NEAR(push[r], (cost(cone.mu, a) - cost(cone.mu, b)) / (2 * h), 1e-6) << "place " << k;
      // The stiffness is the change of the force as the place moves.
      Cone<double> there = cone, here = cone;
      double more[kResiduals], less[kResiduals];
      there.next_u[r] += h, here.next_u[r] -= h;
      there.find_next(kResiduals), here.find_next(kResiduals);
      there.next.times(there.next_u, kResiduals, more), here.next.times(here.next_u, kResiduals, less);
      cone.next.times(unit, kResiduals, turned);
      for (int i = 0; i < kResiduals; ++i) EXPECT_NEAR(turned[i], (more[i] - less[i]) / (2 * h), 2e-4) << "place " << k;
    }
  }
  for (const int places : zones) EXPECT_GE(places, 20);
}

TEST(Cone, LineSearchSlopesAreDerivativesOfTheCost) {
  for (uint64_t k = 0; k < 300; ++k) {
    Cone<double> cone = cone_at(k);
    for (int r = 0; r < kResiduals; ++r) cone.u[r] = draw(10000 + kResiduals * k + static_cast<uint64_t>(r));
    const auto at = [&](double x) {
      double place[kResiduals];
      for (int r = 0; r < kResiduals; ++r) place[r] = cone.u[r] + x * (cone.next_u[r] - cone.u[r]);
      return cost(cone.mu, place);
    };
    double first = 1, second = 2, h = 1e-5;  // the derivatives of everything else
    cone.add_slopes(kResiduals, 0.3, first, second);
    EXPECT_NEAR(first - 1, (at(0.3 + h) - at(0.3 - h)) / (2 * h), 1e-5) << "line " << k;
    double more = 0, less = 0, unused = 0;
    cone.add_slopes(kResiduals, 0.3 + h, more, unused), cone.add_slopes(kResiduals, 0.3 - h, less, unused);
    EXPECT_NEAR(second - 2, (more - less) / (2 * h), 1e-3) << "line " << k;
  }
}

// Without friction, the force is hardness times -N if N is negative, and otherwise 0.
TEST(Cone, WithoutFrictionIsASingleRow) {
  for (const double n : {-0.4, 0.0, 0.4}) {
    Cone<double> cone;
    const double friction[5] = {0.7, 0.7, 0.02, 0.01, 0.01};
    cone.set_friction(1, friction, 0.3);
    cone.hardness = 30;
    cone.begin_solution(false);
    cone.next_u[0] = n;
    cone.find_next(1);
    double force[kResiduals];
    cone.push(1, force);
    EXPECT_NEAR(force[0], n < 0 ? 12 : 0, 1e-14);
    for (int r = 1; r < kResiduals; ++r) EXPECT_EQ(force[r], 0);
  }
}

// The places at which an axis touches a box of 2 x 4 x 6.
struct Places {
  double first, second;
  Places(double x, double y, double z, double hx, double hy, double hz) {
    const double center[3] = {x, y, z}, half[3] = {hx, hy, hz}, size[3] = {1, 2, 3};
    find_places(center, half, size, true, first, second);
  }
};
constexpr double kNone = AxisAndBox<double>::kNone;

TEST(AxisAndBox, AlongAFaceTouchesAtBothEnds) {
  const Places whole(0, 0, 3.1, 0, 1, 0);
  EXPECT_EQ(whole.first, -1);
  EXPECT_EQ(whole.second, 1);
  const Places beyond(0, 1.5, 3.1, 0, 1, 0);  // 0.5 beyond the edge
  EXPECT_EQ(beyond.first, -1);
  EXPECT_NEAR(beyond.second, 0.5, 1e-15);
}
TEST(AxisAndBox, PointingAtACornerTouchesOnce) {
  const double third = 1 / std::sqrt(3.0);
  const Places corner(1.1 + third, 2.1 + third, 3.1 + third, third, third, third);  // points at the corner
  EXPECT_NEAR(corner.first, -1, 1e-15);
  EXPECT_EQ(corner.second, kNone);
}
// The edge is along y and 0.1 below the axis's centre. The nearest place is 0.1 * 0.6 from the centre; the second one
// is the end above the face, or the place at which the axis has passed the face's width of 2.
TEST(AxisAndBox, AcrossAnEdgeTouchesTwice) {
  const Places edge(1, 0, 3.1, 0.8, 0, -0.6);
  EXPECT_NEAR(edge.first, 0.06, 1e-15);
  EXPECT_EQ(edge.second, -1);
  const Places wide(1, 0, 3.1, 3.2, 0, -2.4);
  EXPECT_NEAR(wide.first, 0.06 / 4, 1e-15);
  EXPECT_NEAR(wide.second, 0.06 / 4 - 2 / 3.2, 1e-15);
}
// An end inside the box is the nearest and only place.
TEST(AxisAndBox, EndInsideTheBoxIsTheOnlyPlace) {
  const Places within(1, 0, 3.1, 0.8, 0, 0.6);
  EXPECT_EQ(within.first, -1);
  EXPECT_EQ(within.second, kNone);
}

}  // namespace
}  // namespace drl
